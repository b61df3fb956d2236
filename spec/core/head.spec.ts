import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { ResponseHead } from '../../lib/core/head.ts'
import type { HeaderFields, RequestHead } from '../../lib/core/head.ts'
import { parseRequestHead } from '../../lib/http/parse-head.ts'
import { fc } from '../support/fast-check.ts'

function request(lines: string): RequestHead {
  const bytes = Buffer.from(`GET /p?q HTTP/1.1\r\n${lines}\r\n`, 'latin1')
  const head = parseRequestHead(bytes, 0, bytes.length, { maxHeadBytes: 32_768, maxHeaders: 128 })
  assert.ok(head)
  return head
}

const LINES = 'Host: a\r\nX-One:1\r\nx-two:  2 \r\nX-ONE: 3\r\n'

const heads = suite('head')

heads('writes an unchanged head as it was received', () => {
  assert.is(request(LINES).fieldsText(), LINES)
})

heads('looks fields up by lower-case name, in order', () => {
  const head = request(LINES)
  assert.is(head.get('x-one'), '1')
  assert.is(head.get('x-two'), '2')
  assert.equal(head.getAll('x-one'), ['1', '3'])
  assert.is(head.get('x-on'), undefined)
  assert.is(head.has('host'), true)
  assert.is(head.has('x-three'), false)
  assert.equal(
    [...head.entries()],
    [
      ['host', 'a'],
      ['x-one', '1'],
      ['x-two', '2'],
      ['x-one', '3'],
    ],
  )
})

heads('cuts removed fields out of the text', () => {
  const head = request(LINES)
  head.remove('x-one')
  assert.is(head.fieldsText(), 'Host: a\r\nx-two:  2 \r\n')
  assert.is(head.get('x-one'), undefined)
  head.remove('host')
  assert.is(head.fieldsText(), 'x-two:  2 \r\n')
  head.remove('x-two')
  assert.is(head.fieldsText(), '')
  head.remove('x-two')
  assert.equal([...head.entries()], [])
})

heads('restores a saved state, any number of times', () => {
  const head = request(LINES)
  const restoreOriginal = head.saveState()
  head.remove('x-two')
  head.add('x-new', '1')
  const changed = head.fieldsText()
  const restoreChanged = head.saveState()
  for (let times = 2; times > 0; times--) {
    head.set('host', 'b')
    head.remove('x-new')
    head.remove('x-one')
    restoreChanged()
    assert.is(head.fieldsText(), changed)
    assert.is(head.get('x-two'), undefined)
  }
  restoreOriginal()
  assert.is(head.fieldsText(), LINES)
  assert.is(head.get('x-two'), '2')
})

heads('removes the last field and adjacent fields', () => {
  const head = request('host: a\r\nb: 1\r\nc: 2\r\nd: 3\r\n')
  head.remove('d')
  assert.is(head.fieldsText(), 'host: a\r\nb: 1\r\nc: 2\r\n')
  head.remove('c')
  assert.is(head.fieldsText(), 'host: a\r\nb: 1\r\n')
})

heads('writes added fields after the received ones', () => {
  const head = request(LINES)
  head.add('x-one', '4')
  head.add('x-new', '')
  assert.is(head.fieldsText(), `${LINES}x-one: 4\r\nx-new: \r\n`)
  assert.equal(head.getAll('x-one'), ['1', '3', '4'])
  assert.is(head.get('x-new'), '')
  assert.is(head.has('x-new'), true)
})

heads('replaces every value by the one that is set', () => {
  const head = request(LINES)
  head.add('x-one', '4')
  head.set('x-one', '5')
  assert.is(head.fieldsText(), 'Host: a\r\nx-two:  2 \r\nx-one: 5\r\n')
  head.set('x-one', '6')
  assert.equal(head.getAll('x-one'), ['6'])
})

heads('supports heads that were not received', () => {
  const head = new ResponseHead('', [], 0)
  assert.is(head.fieldsText(), '')
  head.add('a', '1')
  head.set('b', '2')
  head.remove('a')
  assert.is(head.fieldsText(), 'b: 2\r\n')
})

heads('separates path and query', () => {
  const head = request('host: a\r\n')
  assert.equal([head.path, head.query], ['/p', 'q'])
  head.target = '/a?b?c'
  assert.equal([head.path, head.query], ['/a', 'b?c'])
  head.target = '/a'
  assert.equal([head.path, head.query], ['/a', ''])
})

type Edit = readonly ['add' | 'set' | 'remove' | 'get', name: string, value: string]

/** A list of pairs: the simple definition of what `HeaderFields` must do. */
function applyToModel(model: [string, string][], [act, name, value]: Edit): [string, string][] {
  if (act === 'get') return model
  const kept = act === 'add' ? model : model.filter(([key]) => key !== name)
  return act === 'remove' ? kept : [...kept, [name, value]]
}

function apply(fields: HeaderFields, [act, name, value]: Edit, model: [string, string][]): void {
  if (act === 'add') fields.add(name, value)
  else if (act === 'set') fields.set(name, value)
  else if (act === 'remove') fields.remove(name)
  else assert.is(fields.get(name), model.find(([key]) => key === name)?.[1])
}

function pairsOf(lines: string): [string, string][] {
  const pairs: [string, string][] = []
  for (const line of lines.split('\r\n').slice(0, -1)) {
    const colon = line.indexOf(':')
    pairs.push([line.substring(0, colon).toLowerCase(), line.substring(colon + 1).trim()])
  }
  return pairs
}

// Few names, so that they repeat often; some of one length, some a part of another.
const NAME = fc.constantFrom('a', 'b', 'aa', 'ab', 'x-name', 'x-nam', 'y-name')
const VALUE = fc.stringMatching(/^(?:[!-~](?:[ -~]{0,8}[!-~])?)?$/)
const CASED = fc
  .tuple(NAME, fc.boolean())
  .map(([name, upper]) => (upper ? name.toUpperCase() : name))
const EDIT = fc.tuple(fc.constantFrom('add', 'set', 'remove', 'get'), NAME, VALUE)

heads('holds the same list as a simple model after any edits', () => {
  fc.assert(
    fc.property(
      fc.array(fc.tuple(CASED, VALUE), { maxLength: 12 }),
      fc.array(EDIT, { maxLength: 12 }),
      (received, edits) => {
        const head = request(
          'host: h\r\n' + received.map(([name, value]) => `${name}: ${value}\r\n`).join(''),
        )
        let model: [string, string][] = [
          ['host', 'h'],
          ...received.map(([name, value]): [string, string] => [name.toLowerCase(), value]),
        ]
        for (const edit of edits as Edit[]) {
          apply(head, edit, model)
          model = applyToModel(model, edit)
          assert.equal([...head.entries()], model)
          assert.equal(pairsOf(head.fieldsText()), model)
          assert.equal(
            head.getAll(edit[1]),
            model.filter(([key]) => key === edit[1]).map(([, v]) => v),
          )
        }
      },
    ),
    { numRuns: 300 },
  )
})

heads.run()
