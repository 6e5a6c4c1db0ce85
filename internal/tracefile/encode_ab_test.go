package tracefile
import ("testing";"time";"fmt";"sort";"math/rand/v2";"go.opentelemetry.io/collector/pdata/ptrace")
func TestAB(t *testing.T) {
	for name, td := range corpora(t) {
		var stock ptrace.JSONMarshaler
		var e Encoder
		var a, b []float64
		for i := 0; i < 400; i++ {
			s := time.Now(); stock.MarshalTraces(td); a = append(a, float64(time.Since(s)))
			s = time.Now(); e.Encode(td); b = append(b, float64(time.Since(s)))
		}
		sort.Float64s(a); sort.Float64s(b)
		q := func(x []float64, p float64) float64 { return x[int(float64(len(x)-1)*p)]/200 }
		fmt.Printf("%-8s min %.0f/%.0f=%.3f p10 %.0f/%.0f=%.3f med %.0f/%.0f=%.3f ns/span\n", name, q(b,0),q(a,0),q(b,0)/q(a,0), q(b,.1),q(a,.1), q(b,.1)/q(a,.1), q(b,.5),q(a,.5),q(b,.5)/q(a,.5))
	}
	r := rand.New(rand.NewPCG(1,2))
	var en, zh [300]string
	for i := range en { en[i] = english(r); zh[i] = chinese(r) }
	for n, ss := range map[string][]string{"en": en[:], "zh": zh[:]} {
		best := time.Hour
		var buf []byte
		for i := 0; i < 200; i++ { s := time.Now(); for _, x := range ss { buf = appendString(buf[:0], x) }; best = min(best, time.Since(s)) }
		fmt.Println(n, best/300)
	}
}
