package tracefile

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/runspan/runspan/internal/runid"
)

const (
	// maxNameBytes is the longest name of a file or folder on the file systems of Linux and Darwin.
	maxNameBytes = 255

	// sideNameBytes is kept free in the name of a trace file for those beside it: a segment adds
	// `-20261201T090000Z-` and a number of up to ten digits.
	sideNameBytes = 32

	// minPathValue is what a template must leave for each of its values, in bytes: a shortened one
	// has 42 and should still say something.
	minPathValue = 64
)

// sideSuffixes are those of the files that lie beside a trace file.
var sideSuffixes = []string{tornSuffix, lockSuffix, PinSuffix}

// PathValues are what the placeholders of a PathTemplate stand for.
type PathValues struct {
	Run     string // {run.id}
	Service string // {service.name}
}

// pathPlaceholder is one of the values, or none.
type pathPlaceholder int

const (
	noPlaceholder pathPlaceholder = iota
	runPlaceholder
	servicePlaceholder
)

// pathPlaceholders are what may stand between braces.
var pathPlaceholders = map[string]pathPlaceholder{
	runid.AttributeRunID:       runPlaceholder,
	runid.AttributeServiceName: servicePlaceholder,
}

// in returns the value that a placeholder stands for.
func (p pathPlaceholder) in(v *PathValues) *string {
	if p == runPlaceholder {
		return &v.Run
	}
	return &v.Service
}

// PathTemplate says which trace file a run's spans are in: a path with the placeholders {run.id} and
// {service.name}, or with none, and then it is one file. Writer and readers share it.
//
// Different values always lead to different paths, on file systems that ignore case too, and no path
// is the folder, a segment or another side file of another one.
type PathTemplate struct {
	path       string
	components []pathComponent
}

// pathComponent is one name of a path.
type pathComponent struct {
	parts []pathPart
	most  int  // bytes of a value
	last  bool // the name of the file
}

// pathPart is a text, or a placeholder.
type pathPart struct {
	text  string
	value pathPlaceholder // none for a text
}

// ParsePathTemplate returns the template that path is. The error says what is wrong with it; it does
// not name the setting.
func ParsePathTemplate(path string) (*PathTemplate, error) {
	switch {
	case path == "":
		return nil, errors.New("is empty: name the file, for example ./data/traces.jsonl")
	case strings.HasSuffix(path, "/"):
		return nil, fmt.Errorf("%q is a folder: name the file in it", path)
	case strings.IndexByte(path, 0) >= 0:
		return nil, fmt.Errorf("%q holds a NUL: no path can", path)
	}
	t := &PathTemplate{path: path}
	names := strings.Split(filepath.Clean(path), "/")
	for i, name := range names {
		component, err := parsePathComponent(name)
		if err != nil {
			return nil, fmt.Errorf("%q: %w", path, err)
		}
		component.last = i == len(names)-1
		t.components = append(t.components, component)
	}
	if !t.HasPlaceholders() {
		return t, nil
	}
	for i := range t.components {
		if err := t.components[i].check(); err != nil {
			return nil, fmt.Errorf("%q: %w", path, err)
		}
	}
	if segmentName.MatchString(filepath.Base(t.Expand(PathValues{Run: "x", Service: "x"}))) {
		return nil, fmt.Errorf("%q: ends like a closed segment, with a time: leave the time out", path)
	}
	return t, nil
}

func parsePathComponent(name string) (pathComponent, error) {
	var c pathComponent
	for name != "" {
		text, rest, open := strings.Cut(name, "{")
		if strings.Contains(text, "}") {
			return c, errors.New("has a } without a {")
		}
		if text != "" {
			c.parts = append(c.parts, pathPart{text: text})
		}
		if !open {
			break
		}
		placeholder, rest, closed := strings.Cut(rest, "}")
		value, known := pathPlaceholders[placeholder]
		if !closed || !known {
			return c, fmt.Errorf("{%s is no placeholder: there are {run.id} and {service.name}", placeholder)
		}
		c.parts = append(c.parts, pathPart{value: value})
		name = rest
	}
	return c, nil
}

// check refuses what could make one path of two values, or no path at all.
func (c *pathComponent) check() error {
	values, texts := 0, 0
	separate := true
	for _, part := range c.parts {
		if part.value == noPlaceholder {
			texts += len(part.text)
			separate = separate || strings.ContainsFunc(part.text, neverInValue)
			continue
		}
		if !separate {
			return errors.New("has two placeholders in one name with nothing between that no value holds: " +
				"write a / between them, or one of @ + = ,")
		}
		values, separate = values+1, false
	}
	room := maxNameBytes - texts
	if c.last {
		room -= sideNameBytes
		// Otherwise the run x.torn would be what a crash tore of the run x.
		tail := c.parts[len(c.parts)-1]
		ext := filepath.Ext(tail.text)
		if values > 0 && (tail.value != noPlaceholder || len(ext) < 2) || slices.Contains(sideSuffixes, ext) {
			return errors.New("must end like a file name, for example with .jsonl")
		}
	}
	if values == 0 {
		return nil
	}
	c.most = room / values
	if c.most < minPathValue {
		return fmt.Errorf("leaves %d bytes for a value in a name of at most %d: shorten the text around it",
			max(0, c.most), maxNameBytes)
	}
	return nil
}

// neverInValue reports whether no encoded value holds r, on file systems that ignore case neither.
func neverInValue(r rune) bool {
	return r < 0x80 && strings.ContainsRune("@+=,:;!#~^&() '\"$<>|*?\\", r)
}

// HasPlaceholders reports whether the template names more than one file.
func (t *PathTemplate) HasPlaceholders() bool {
	return slices.ContainsFunc(t.components, pathComponent.hasValue)
}

func (c pathComponent) hasValue() bool {
	return slices.ContainsFunc(c.parts, func(p pathPart) bool { return p.value != noPlaceholder })
}

// Used returns the values without those that the template does not name: two for which it is the same
// have one file.
func (t *PathTemplate) Used(v PathValues) PathValues {
	var used PathValues
	for _, c := range t.components {
		for _, part := range c.parts {
			if part.value != noPlaceholder {
				*part.value.in(&used) = *part.value.in(&v)
			}
		}
	}
	return used
}

// abs returns the template of absolute paths.
func (t *PathTemplate) abs() (*PathTemplate, error) {
	path, err := filepath.Abs(t.path)
	if err != nil {
		return nil, fmt.Errorf("path %q: %w", t.path, err)
	}
	return ParsePathTemplate(path)
}

// String returns the path as it was written.
func (t *PathTemplate) String() string { return t.path }

// Root returns the folder before the first placeholder; without one, the folder of the file.
func (t *PathTemplate) Root() string {
	n := slices.IndexFunc(t.components, pathComponent.hasValue)
	if n < 0 {
		n = len(t.components) - 1
	}
	if n == 0 {
		return "."
	}
	var names []string
	for _, c := range t.components[:n] {
		names = append(names, c.text())
	}
	if root := strings.Join(names, "/"); root != "" {
		return root
	}
	return "/"
}

// text is a component without values.
func (c pathComponent) text() string {
	if len(c.parts) == 0 {
		return ""
	}
	return c.parts[0].text
}

// Glob returns the pattern of path/filepath.Match that names all files of the template.
func (t *PathTemplate) Glob() string {
	var s strings.Builder
	for i, c := range t.components {
		if i > 0 {
			s.WriteByte('/')
		}
		for _, part := range c.parts {
			if part.value != noPlaceholder {
				s.WriteByte('*')
				continue
			}
			for _, r := range part.text {
				if strings.ContainsRune(`*?[\`, r) {
					s.WriteByte('\\')
				}
				s.WriteRune(r)
			}
		}
	}
	return s.String()
}

// Expand returns the path of the file of these values. What the template does not name is not used.
func (t *PathTemplate) Expand(v PathValues) string {
	var s strings.Builder
	for i, c := range t.components {
		if i > 0 {
			s.WriteByte('/')
		}
		s.WriteString(c.expand(&v))
	}
	return s.String()
}

func (c pathComponent) expand(v *PathValues) string {
	if len(c.parts) == 1 && c.parts[0].value == noPlaceholder {
		return c.parts[0].text
	}
	name := c.expandAs(v, false)
	// Readers would take it for a segment of another file: the run x-20261201090000 for one of x.
	if c.last && segmentName.MatchString(name) {
		name = c.expandAs(v, true)
	}
	return name
}

func (c pathComponent) expandAs(v *PathValues, noTime bool) string {
	var s strings.Builder
	for _, part := range c.parts {
		if part.value == noPlaceholder {
			s.WriteString(part.text)
			continue
		}
		s.WriteString(encodePathValue(*part.value.in(v), c.most, noTime))
	}
	return s.String()
}

// PathMatch is what a path says of the file there.
type PathMatch struct {
	PathValues

	// Shortened says that a value was too long for a name: it is only how the value begins, and the
	// spans in the file have the whole one.
	Shortened bool
}

// Match returns the values for which the template gives path, which must begin as the template does:
// absolute or relative. It is false for every path that Expand does not return, so for segments.
func (t *PathTemplate) Match(path string) (PathMatch, bool) {
	var m PathMatch
	names := strings.Split(filepath.Clean(path), "/")
	if len(names) != len(t.components) {
		return m, false
	}
	seen := map[pathPlaceholder]string{} // how each value is written
	for i, c := range t.components {
		if !c.match(names[i], &m, seen) {
			return m, false
		}
	}
	if m.Shortened {
		return m, true
	}
	return m, t.Expand(m.PathValues) == filepath.Clean(path)
}

// match reads the values of a name. The text between two placeholders holds a byte that no value
// holds, so that there is one way only to read it.
func (c pathComponent) match(name string, m *PathMatch, seen map[pathPlaceholder]string) bool {
	for i, part := range c.parts {
		if part.value == noPlaceholder {
			rest, ok := strings.CutPrefix(name, part.text)
			if !ok {
				return false
			}
			name = rest
			continue
		}
		end := len(name)
		if i+1 < len(c.parts) {
			text := c.parts[i+1].text
			if i+2 == len(c.parts) {
				end = len(name) - len(text)
			} else {
				end = strings.Index(name, text)
			}
			if end < 0 {
				return false
			}
		}
		encoded := name[:end]
		name = name[end:]
		value, shortened, ok := DecodePathValue(encoded)
		target := part.value.in(&m.PathValues)
		if !ok || shortened && !c.isShortened(encoded) {
			return false
		}
		if before, twice := seen[part.value]; twice && before != value && !m.Shortened && !shortened {
			return false
		}
		seen[part.value], *target = value, value
		m.Shortened = m.Shortened || shortened
	}
	return name == ""
}

// isShortened reports whether a name is as long as a shortened one is here: the cut may have left out
// a character of four bytes, an escape each.
func (c pathComponent) isShortened(name string) bool {
	return len(name) <= c.most && len(name) > c.most-3*utf8.UTFMax
}
