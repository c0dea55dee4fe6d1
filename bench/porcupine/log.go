package main

import "github.com/anishathalye/porcupine"

// entry is the newest entry of a log that is never changed, and so the whole log; nil is the empty one.
type entry struct {
	before *entry
	value  int64
	length int64
	hash   uint64
}

func (log *entry) size() int64 {
	if log == nil {
		return 0
	}
	return log.length
}

func (log *entry) append(value int64) *entry {
	return &entry{before: log, value: value, length: log.size() + 1, hash: mixed(log.fingerprint() ^ mixed(uint64(value)))}
}

func (log *entry) fingerprint() uint64 {
	if log == nil {
		return 0
	}
	return log.hash
}

// mixed spreads the bits of a number: two odd constants, and the upper half folded into the lower.
func mixed(bits uint64) uint64 {
	bits = (bits + 0x9E3779B97F4A7C15) * 0xD6E8FEB86659FD93
	bits = (bits ^ bits>>32) * 0xD6E8FEB86659FD93
	return bits ^ bits>>32
}

// same compares entry by entry, from the newest down to where both are one and the same log.
func (log *entry) same(other *entry) bool {
	if log.size() != other.size() || log.fingerprint() != other.fingerprint() {
		return false
	}
	for log != other {
		if log.value != other.value {
			return false
		}
		log, other = log.before, other.before
	}
	return true
}

// at walks down to an offset; clients look near the end.
func (log *entry) at(offset int64) (int64, bool) {
	if offset < 0 || offset >= log.size() {
		return 0, false
	}
	for log.length > offset+1 {
		log = log.before
	}
	return log.value, true
}

func (log *entry) holds(seen []record) bool {
	for _, one := range seen {
		if value, there := log.at(one.offset); !there || value != one.value {
			return false
		}
	}
	return true
}

// step is what a log does: whether this answer is right, and the log thereafter.
func step(log *entry, asked *operation) (bool, *entry) {
	switch asked.kind {
	case appendOne:
		return asked.offset == none || asked.offset == log.size(), log.append(asked.value)
	case readRange:
		return asked.isOneRange() && log.holds(asked.seen) && (!asked.atEnd || asked.reached() >= log.size()), log
	case poll:
		return log.holds(asked.seen), log
	default:
		return asked.offset == log.size(), log
	}
}

func certainLog() porcupine.Model {
	return porcupine.Model{
		Init: func() interface{} { return (*entry)(nil) },
		Step: func(state, input, _ interface{}) (bool, interface{}) {
			right, after := step(state.(*entry), input.(*operation))
			return right, after
		},
		Equal: sameState,
		Hash:  hashOfState,
	}
}

// uncertainLog is one where an operation without an answer may have happened or not.
func uncertainLog() porcupine.NondeterministicModel {
	return porcupine.NondeterministicModel{
		Init: func() []interface{} { return []interface{}{(*entry)(nil)} },
		Step: func(state, input, _ interface{}) []interface{} {
			asked := input.(*operation)
			right, after := step(state.(*entry), asked)
			if !right {
				return nil
			}
			if asked.uncertain {
				return []interface{}{after, state}
			}
			return []interface{}{after}
		},
		Equal: sameState,
		Hash:  hashOfState,
	}
}

func sameState(one, other interface{}) bool { return one.(*entry).same(other.(*entry)) }

func hashOfState(state interface{}) uint64 { return state.(*entry).fingerprint() }
