package runindex

// settle works out, for the traces that changed, whose child each span is, what is an orphan, which
// span is the root, and what clocks say of each other. Parents mostly arrive after their children.
func (c *columns) settle() {
	for _, trace := range c.dirty {
		t := &c.traces[trace]
		t.dirty = false
		c.orphans -= int64(t.orphans)
		if t.top >= 0 && !t.hasRoot {
			c.rootless--
		}
		c.settleTrace(t, c.rowsOf(trace), trace)
		c.orphans += int64(t.orphans)
		if !t.hasRoot {
			c.rootless++
		}
	}
	c.dirty = c.dirty[:0]
}

func (c *columns) settleTrace(t *traceRow, rows []int32, trace uint32) {
	for _, row := range rows {
		c.flags[row] &^= flagWalk | flagDone
		c.above[row] = noParent
		if parent := c.parent[row]; parent != 0 {
			c.above[row] = parentMissing
			if at := c.find(trace, parent); at >= 0 {
				c.above[row] = at
			}
		}
	}
	for _, row := range rows {
		c.breakCycle(row)
	}
	t.orphans, t.top, t.hasRoot = 0, -1, false
	for _, row := range rows {
		switch above := c.above[row]; {
		case above == parentMissing:
			t.orphans++
			if !t.hasRoot && (t.top < 0 || c.start[row] < c.start[t.top]) {
				t.top = row
			}
		case above == noParent:
			if !t.hasRoot || c.start[row] < c.start[t.top] {
				t.top = row
			}
			t.hasRoot = true
		case c.flags[row]&flagPaired == 0:
			c.flags[row] |= flagPaired
			c.compareClocks(row, above)
		}
	}
}

// breakCycle follows the parents of a row up to where they are known to end. Where they lead back to
// one of themselves, the earliest span of the circle is taken for one whose parent is missing.
func (c *columns) breakCycle(row int32) {
	at := row
	for at >= 0 && c.flags[at]&(flagDone|flagWalk) == 0 {
		c.flags[at] |= flagWalk
		at = c.above[at]
	}
	if at >= 0 && c.flags[at]&flagDone == 0 {
		first := at
		c.flags[at] |= flagDone
		for next := c.above[at]; next != at; next = c.above[next] {
			c.flags[next] |= flagDone
			if c.start[next] < c.start[first] || c.start[next] == c.start[first] && next < first {
				first = next
			}
		}
		c.above[first] = parentMissing
	}
	for at = row; at >= 0 && c.flags[at]&flagDone == 0; at = c.above[at] {
		c.flags[at] |= flagDone
	}
}

// compareClocks notes how a span lies within its parent, where they are of two processes.
func (c *columns) compareClocks(row, above int32) {
	pair := processPair{child: c.process[row], parent: c.process[above]}
	if c.processTable[pair.child].name == c.processTable[pair.parent].name {
		return
	}
	stat := c.pairs[pair]
	if stat == nil {
		stat = &pairStat{example: -1}
		c.pairs[pair] = stat
	}
	stat.pairs++
	before := max(0, c.start[above]-c.start[row])
	after := max(0, c.endOf(row)-c.endOf(above))
	if before == 0 && after == 0 {
		return
	}
	stat.outside++
	if stat.example < 0 || max(before, after) > max(stat.before, stat.after) {
		stat.example = row
	}
	stat.before, stat.after = max(stat.before, before), max(stat.after, after)
}
