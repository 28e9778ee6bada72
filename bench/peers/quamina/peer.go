// quamina: a pattern is a conjunction of values for each field. An expression becomes its disjunctive form, a pattern
// for each conjunction, all with one id; an interval becomes the values in it that lie in the range of the events'.
// How it is measured is said in protocol.py.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sort"
	"time"

	"quamina.net/go/quamina/v2"
)

const (
	budget = 64
	rounds = 7
	warmUp = 2.0
	round  = 2.0
	least  = 0.05
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

// disjunctive returns conjunctions of attributes with the values allowed, and false if there are too many.
func (d domain) disjunctive(f form) ([]conjunction, bool) {
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
		inner, fits := d.disjunctive(part)
		if !fits {
			return nil, false
		}
		if f.Or == nil {
			found = crossed(found, inner)
		} else {
			found = append(found, inner...)
		}
		if len(found) > budget {
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

func crossed(left, right []conjunction) []conjunction {
	found := []conjunction{}
	for _, one := range left {
		for _, other := range right {
			if both := intersection(one, other); both != nil {
				found = append(found, both)
			}
		}
	}
	return found
}

// intersection returns nil if nothing can satisfy both.
func intersection(one, other conjunction) conjunction {
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

func (c conjunction) pattern() string {
	fields := map[string][]int{}
	for name, values := range c {
		for value := range values {
			fields[name] = append(fields[name], value)
		}
		sort.Ints(fields[name])
	}
	text, _ := json.Marshal(fields)
	return string(text)
}

func main() {
	events := lines("events")
	d := domain{0, 0}
	for _, event := range events {
		values := map[string]int{}
		check(json.Unmarshal(event, &values))
		for _, value := range values {
			d = domain{min(d.low, value), max(d.high, value)}
		}
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
		conjunctions, fits := d.disjunctive(row.Positive)
		if !fits {
			refused = append(refused, [2]any{row.ID, fmt.Sprintf("more than %d conjunctions", budget)})
			continue
		}
		if len(conjunctions) > 0 && len(conjunctions[0]) == 0 {
			refused = append(refused, [2]any{row.ID, "a pattern has at least one field"})
			continue
		}
		for _, one := range conjunctions {
			patterns = append(patterns, pattern{row.ID, one.pattern()})
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
		// An id may be found by several of its patterns.
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
	timed := events[:min(len(events), max(3, int(round/each)))]
	turn := func(least float64) float64 {
		times := []float64{}
		begun := time.Now()
		for len(times) == 0 || time.Since(begun).Seconds() < least {
			for _, event := range timed {
				begin := time.Now()
				find(event)
				times = append(times, time.Since(begin).Seconds()*1e6)
			}
		}
		sort.Float64s(times)
		return times[len(times)/2]
	}
	turn(warmUp - each*float64(len(events)))
	micros := make([]float64, rounds)
	for i := range micros {
		micros[i] = turn(least)
	}
	notes := "events as JSON text; ranges as lists of values, OR as several patterns"
	if len(timed) < len(events) {
		notes += fmt.Sprintf("; timed on %d events", len(timed))
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
