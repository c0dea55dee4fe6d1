package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/anishathalye/porcupine"
)

// Histories as lines of words; "-" is none:
//
//	history NAME
//	append START END VALUE OFFSET        END none: nobody knows whether it happened
//	read START END FROM ATEND OFFSET:VALUE ...
//	poll START END OFFSET:VALUE ...
//	end START END LENGTH
const none = -1

type kind string

const (
	appendOne kind = "append"
	readRange kind = "read"
	poll      kind = "poll"
	endOffset kind = "end"
)

type record struct{ offset, value int64 }

type operation struct {
	kind      kind
	uncertain bool
	atEnd     bool
	value     int64
	offset    int64 // acknowledged or answered
	from      int64
	seen      []record
}

// isOneRange says whether a read shows every offset from where it asked.
func (asked *operation) isOneRange() bool {
	for i, one := range asked.seen {
		if one.offset != asked.from+int64(i) {
			return false
		}
	}
	return true
}

func (asked *operation) reached() int64 { return asked.from + int64(len(asked.seen)) }

type history struct {
	name       string
	uncertain  bool
	operations []porcupine.Operation
}

func readHistories(source io.Reader) ([]history, error) {
	var histories []history
	lines := bufio.NewScanner(source)
	lines.Buffer(nil, 1<<26)
	for at := 1; lines.Scan(); at++ {
		said := &words{left: strings.Fields(lines.Text())}
		first := said.next()
		if first == "history" {
			histories = append(histories, history{name: said.next()})
		} else if len(histories) > 0 {
			histories[len(histories)-1].add(kind(first), said)
		} else {
			said.wrong = errors.New("an operation of no history")
		}
		if said.wrong == nil && len(said.left) > 0 {
			said.wrong = errors.New("too many words")
		}
		if said.wrong != nil {
			return nil, fmt.Errorf("line %d: %w", at, said.wrong)
		}
	}
	for i := range histories {
		histories[i].endTheUncertain()
	}
	return histories, lines.Err()
}

func (one *history) add(what kind, said *words) {
	call, end := said.number(), said.number()
	asked := &operation{kind: what, uncertain: end == none}
	switch what {
	case appendOne:
		asked.value, asked.offset = said.number(), said.number()
	case readRange:
		asked.from, asked.atEnd, asked.seen = said.number(), said.number() == 1, said.records()
	case poll:
		asked.seen = said.records()
	case endOffset:
		asked.offset = said.number()
	default:
		said.wrong = fmt.Errorf("%q is no operation", what)
	}
	one.uncertain = one.uncertain || asked.uncertain
	one.operations = append(one.operations, porcupine.Operation{Input: asked, Call: call, Return: end})
}

// endTheUncertain lets them return after everything: the library knows no operation that stays open.
func (one *history) endTheUncertain() {
	var last int64
	for _, each := range one.operations {
		if each.Call > last {
			last = each.Call
		}
		if each.Return > last {
			last = each.Return
		}
	}
	for i := range one.operations {
		if one.operations[i].Return == none {
			one.operations[i].Return = last + 1
		}
	}
}

// words are what is left of a line; the first thing that is wrong with it stays.
type words struct {
	left  []string
	wrong error
}

func (said *words) next() string {
	if len(said.left) == 0 {
		said.wrong = errors.New("too few words")
		return ""
	}
	word := said.left[0]
	said.left = said.left[1:]
	return word
}

func (said *words) number() int64 { return said.parsed(said.next()) }

func (said *words) parsed(word string) int64 {
	if word == "-" {
		return none
	}
	number, err := strconv.ParseInt(word, 10, 64)
	if err != nil && said.wrong == nil {
		said.wrong = err
	}
	return number
}

// records are all the words that are left.
func (said *words) records() []record {
	seen := make([]record, len(said.left))
	for i := range seen {
		at, what, _ := strings.Cut(said.next(), ":")
		seen[i] = record{said.parsed(at), said.parsed(what)}
	}
	return seen
}
