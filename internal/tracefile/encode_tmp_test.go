package tracefile
import ("testing";"strings")
func BenchmarkZ(b *testing.B) {
	for n, s := range map[string]string{"pure": strings.Repeat("中", 682), "a30": strings.Repeat(strings.Repeat("中", 30)+"\n", 22), "a30d": strings.Repeat(strings.Repeat("中", 30)+"x", 22),"a32": strings.Repeat(strings.Repeat("中", 32)+"\n", 21), "ascii": strings.Repeat("a", 2048), "cyr": strings.Repeat("привет ", 146)} {
		b.Run(n, func(b *testing.B) {
			var buf []byte
			for b.Loop() { buf = appendString(buf[:0], s) }
		})
	}
}
