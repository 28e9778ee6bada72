// quamina: a pattern is a conjunction, with the allowed values of each field. An expression becomes its disjunctive
// normal form: a pattern for each conjunction, all with the same id. There are no ranges: an interval becomes the
// values in it, within the range of the events' values. protocol.py describes how it is measured.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sort"
	"strconv"
	"time"

	"quamina.net/go/quamina"
)

const (
	conjunctionsMax = 64
	rounds          = 7
	warmUpSeconds   = 2.0
	roundSecondsMax = 2.0
	roundSecondsMin = 0.05
)

type form struct {
	And, Or   []form
	Attribute string
	Within    [][2]*int
	constant  *bool
}

func (f *form) UnmarshalJSON(text []byte) error {
	var truth bool
	if json.Unmarshal(text, &truth) == nil {
		f.constant = &truth
		return nil
	}
	type plain form
	return json.Unmarshal(text, (*plain)(f))
}

type conjunction map[string]map[int]bool

type domain struct{ low, high int }

// toDisjunctiveForm returns the conjunctions, with the allowed values of each attribute, and false if there are too many.
func (d domain) toDisjunctiveForm(f form) ([]conjunction, bool) {
	if f.constant != nil {
		if *f.constant {
			return []conjunction{{}}, true
		}
		return nil, true
	}
	if f.Attribute != "" {
		values := d.values(f.Within)
		if len(values) == 0 {
			return nil, true
		}
		return []conjunction{{f.Attribute: values}}, true
	}
	found := []conjunction{}
	if f.Or == nil {
		found = append(found, conjunction{})
	}
	for _, part := range append(f.And, f.Or...) {
		inner, fits := d.toDisjunctiveForm(part)
		if !fits {
			return nil, false
		}
		if f.Or == nil {
			found = cross(found, inner)
		} else {
			found = append(found, inner...)
		}
		if len(found) > conjunctionsMax {
			return nil, false
		}
	}
	return found, true
}

func (d domain) values(within [][2]*int) map[int]bool {
	found := map[int]bool{}
	for _, interval := range within {
		low, high := d.low, d.high
		if interval[0] != nil {
			low = max(low, *interval[0])
		}
		if interval[1] != nil {
			high = min(high, *interval[1])
		}
		for value := low; value <= high; value++ {
			found[value] = true
		}
	}
	return found
}

func cross(left, right []conjunction) []conjunction {
	found := []conjunction{}
	for _, one := range left {
		for _, other := range right {
			if both := intersect(one, other); both != nil {
				found = append(found, both)
			}
		}
	}
	return found
}

// intersect returns nil if no event can satisfy both.
func intersect(one, other conjunction) conjunction {
	both := conjunction{}
	for name, values := range one {
		both[name] = values
	}
	for name, values := range other {
		if known, ok := both[name]; ok {
			shared := map[int]bool{}
			for value := range values {
				if known[value] {
					shared[value] = true
				}
			}
			values = shared
		}
		if len(values) == 0 {
			return nil
		}
		both[name] = values
	}
	return both
}

// pattern writes a single value as it is, and several as anything but the others. A list of alternatives would be
// exact too, but quamina has a state for every combination of alternatives in a pattern: seven fields of five values
// take seconds.
func (d domain) pattern(c conjunction) string {
	fields := map[string][]any{}
	for name, allowed := range c {
		others := []string{}
		for value := d.low; value <= d.high; value++ {
			if !allowed[value] {
				others = append(others, strconv.Itoa(value))
			}
		}
		switch {
		case len(allowed) == 1:
			for value := range allowed {
				fields[name] = []any{strconv.Itoa(value)}
			}
		case len(others) == 0:
			fields[name] = []any{map[string]bool{"exists": true}}
		default:
			fields[name] = []any{map[string][]string{"anything-but": others}}
		}
	}
	text, _ := json.Marshal(fields)
	return string(text)
}

func main() {
	events := lines("events")
	d := domain{0, 0}
	for i, event := range events {
		values := map[string]int{}
		check(json.Unmarshal(event, &values))
		texts := map[string]string{}
		for name, value := range values {
			d = domain{min(d.low, value), max(d.high, value)}
			texts[name] = strconv.Itoa(value)
		}
		var err error
		events[i], err = json.Marshal(texts)
		check(err)
	}
	type pattern struct {
		id   int
		text string
	}
	patterns := []pattern{}
	refused := [][2]any{}
	for _, line := range lines("subscriptions") {
		var row struct {
			ID       int
			Positive form
		}
		check(json.Unmarshal(line, &row))
		conjunctions, fits := d.toDisjunctiveForm(row.Positive)
		if !fits {
			refused = append(refused, [2]any{row.ID, fmt.Sprintf("more than %d conjunctions", conjunctionsMax)})
			continue
		}
		if len(conjunctions) > 0 && len(conjunctions[0]) == 0 {
			refused = append(refused, [2]any{row.ID, "a pattern has at least one field"})
			continue
		}
		for _, one := range conjunctions {
			patterns = append(patterns, pattern{row.ID, d.pattern(one)})
		}
	}

	before, begin := heap(), time.Now()
	q, err := quamina.New()
	check(err)
	for _, one := range patterns {
		check(q.AddPattern(one.id, one.text))
	}
	built, grown := time.Since(begin).Seconds(), int64(heap())-int64(before)

	find := func(event []byte) []quamina.X {
		found, err := q.MatchesForEvent(event)
		check(err)
		return found
	}
	begin = time.Now()
	matches := make([][]int, len(events))
	for i, event := range events {
		// Several patterns of one id may match.
		distinct := map[int]bool{}
		for _, id := range find(event) {
			distinct[id.(int)] = true
		}
		matches[i] = []int{}
		for id := range distinct {
			matches[i] = append(matches[i], id)
		}
		sort.Ints(matches[i])
	}
	each := time.Since(begin).Seconds() / float64(len(events))
	timedEvents := events[:min(len(events), max(3, int(roundSecondsMax/each)))]
	turn := func(seconds float64) float64 {
		times := []float64{}
		begun := time.Now()
		for len(times) == 0 || time.Since(begun).Seconds() < seconds {
			for _, event := range timedEvents {
				begin := time.Now()
				find(event)
				times = append(times, time.Since(begin).Seconds()*1e6)
			}
		}
		sort.Float64s(times)
		return times[len(times)/2]
	}
	turn(warmUpSeconds - each*float64(len(events)))
	micros := make([]float64, rounds)
	for i := range micros {
		micros[i] = turn(roundSecondsMin)
	}
	notes := "events as JSON text; values as strings, ranges as anything-but, OR as several patterns"
	if len(timedEvents) < len(events) {
		notes += fmt.Sprintf("; timed on %d events", len(timedEvents))
	}
	check(json.NewEncoder(os.Stdout).Encode(map[string]any{
		"peer": "quamina", "build_seconds": built, "bytes": grown, "micros": micros, "matches": matches,
		"refused": refused, "notes": notes,
	}))
}

func lines(name string) [][]byte {
	file, err := os.Open(filepath.Join(os.Args[1], name+".jsonl"))
	check(err)
	defer file.Close()
	scanner := bufio.NewScanner(file)
	scanner.Buffer(nil, 1<<26)
	found := [][]byte{}
	for scanner.Scan() {
		found = append(found, append([]byte{}, scanner.Bytes()...))
	}
	check(scanner.Err())
	return found
}

// heap returns the bytes of live objects.
func heap() uint64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
