// Reading JSON while it passes. JSON.parse decides what is JSON and what its members are.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { JsonPeek } from '../../lib/text/json-peek.ts'
import { MAX_NAME_BYTES, NO_INTEREST } from '../../lib/text/json-members.ts'
import { MAX_JSON_DEPTH } from '../../lib/text/json-scan.ts'
import { fc } from '../support/fast-check.ts'
import { splits } from '../support/splits.ts'
import { jsonKeys } from '../support/json-keys.ts'

/** The calls that the owner of a `JsonPeek` received, as text. */
interface PeekCalls {
  begun: string[]
  /** `name=value`, and the range. */
  members: [text: string, from: number, to: number][]
  closed: number
  fault: [what: string, at: number] | null
  hasMembers: boolean
}

type Interest = (name: string) => number
const ALL: Interest = () => 1_000_000
const NONE: Interest = () => NO_INTEREST

function peeked(chunks: readonly Buffer[], interest: Interest): PeekCalls {
  const calls: PeekCalls = { begun: [], members: [], closed: -1, fault: null, hasMembers: false }
  const machine = new JsonPeek({
    begin: (name) => {
      calls.begun.push(name)
      return interest(name)
    },
    member: ({ name, from, to, value }) =>
      calls.members.push([`${name}=${value === null ? '…' : value.toString()}`, from, to]),
    closed: (at) => (calls.closed = at),
    fault: (what, at) => {
      assert.is(calls.fault, null, 'one fault at most')
      calls.fault = [what, at]
    },
  })
  for (const chunk of chunks) {
    // The bytes are overwritten after the call, and do not start at the start of their buffer.
    const lent = Buffer.concat([Buffer.from('"{['), chunk, Buffer.from('\\"}')])
    machine.write(lent, 3, lent.length - 3)
    lent.fill(0)
  }
  machine.end()
  assert.is(machine.isOver, calls.fault === null)
  calls.hasMembers = machine.hasMembers
  return calls
}

function read(text: string, interest = ALL): PeekCalls {
  return peeked([Buffer.from(text)], interest)
}

const peek = suite('json peek')

const OBJECTS: [text: string, members: string[]][] = [
  ['{}', []],
  [' \r\n\t{ \n} \t\r\n', []],
  ['{"a":1}', ['a=1']],
  [
    '\n{ "a" : -1.5e+3 , "b"\t:\r[1,{"a":2}] ,"c":{"}":"]"} }\n',
    ['a=-1.5e+3', 'b=[1,{"a":2}]', 'c={"}":"]"}'],
  ],
  ['{"t":true,"f":false,"n":null,"z":0,"s":""}', ['t=true', 'f=false', 'n=null', 'z=0', 's=""']],
  [
    '{"m":"say \\"model\\":{\\\\","x":"\\u007b\\n"}',
    ['m="say \\"model\\":{\\\\"', 'x="\\u007b\\n"'],
  ],
  [
    '{"mod\\u0065l":"x","\\"":1,"gr\u00f6\u00dfe":2,"\\ud83d\\ude00":3}',
    ['model="x"', '"=1', 'größe=2', '😀=3'],
  ],
  ['{"a":[[],{},[{"a":{"a":[]}}]],"b":2}', ['a=[[],{},[{"a":{"a":[]}}]]', 'b=2']],
  [
    '{"messages":[{"role":"user","content":"日本 😀 \\"}]"}],"model":"m"}',
    ['messages=[{"role":"user","content":"日本 😀 \\"}]"}]', 'model="m"'],
  ],
]

peek('reports the members of the root and their ranges, at every split', () => {
  for (const [text, members] of OBJECTS) {
    const bytes = Buffer.from(text)
    for (const chunks of splits(bytes)) {
      const calls = peeked(chunks, ALL)
      assert.is(calls.fault, null, text)
      assert.equal(
        calls.members.map(([member]) => member),
        members,
        text,
      )
      for (const [member, from, to] of calls.members)
        assert.is(bytes.toString('utf8', from, to), member.slice(member.indexOf('=') + 1))
      assert.is(calls.closed, bytes.lastIndexOf('}'))
      assert.is(calls.hasMembers, members.length > 0)
    }
  }
})

peek('accepts a byte order mark, and counts it in offsets', () => {
  for (const chunks of splits(Buffer.from('\ufeff {"a":1}'))) {
    const calls = peeked(chunks, ALL)
    assert.is(calls.fault, null)
    assert.equal(calls.members, [['a=1', 9, 10]])
    assert.is(calls.closed, 10)
  }
  assert.equal(read(' \ufeff{}').fault, ['expected a JSON object', 1])
  assert.equal(read('\ufeff\ufeff{}').fault, ['expected a JSON object', 3])
  for (const chunks of splits(Buffer.from('efbb7b7d', 'hex')))
    assert.equal(peeked(chunks, ALL).fault, ['expected a JSON object', 2])
})

const BROKEN: [text: string, what: string, at: number][] = [
  ['', 'the body is empty', 0],
  ['  \n', 'the body is empty', 3],
  ['[]', 'expected a JSON object', 0],
  [' "a"', 'expected a JSON object', 1],
  ['null', 'expected a JSON object', 0],
  ['{', 'the body ends inside the JSON object', 1],
  ['{"a":1', 'the body ends inside the JSON object', 6],
  ['{"a":"b\\"}', 'the body ends inside the JSON object', 10],
  ['{a:1}', 'expected a member name', 1],
  ['{"a":1,}', 'expected a member name', 7],
  ['{,"a":1}', 'expected a member name', 1],
  ['{"a" 1}', 'expected a colon after a name', 5],
  ['{"a"}', 'expected a colon after a name', 4],
  ['{"a":}', 'expected a value', 5],
  ['{"a"::1}', 'expected a value', 5],
  ['{"a":truE}', 'expected a value', 8],
  ['{"a":nul}', 'expected a value', 8],
  ['{"a":+1}', 'expected a value', 5],
  ['{"a":[1,]}', 'expected a value', 8],
  ['{"a":[,1]}', 'expected a value', 6],
  ['{"a":1 "b":2}', 'expected a comma after a value', 7],
  ['{"a":"b" x}', 'expected a comma after a value', 9],
  ['{"a":[1}', 'expected a comma after a value', 7],
  ['{"a":{"b":1]}', 'expected a comma after a value', 11],
  ['{"a":[1 2]}', 'expected a comma after a value', 8],
  ['{"a":1]', 'expected a comma after a value', 6],
  ['{"a":01}', 'expected a comma after a value', 6],
  ['{"a":-}', 'invalid number', 6],
  ['{"a":--1}', 'invalid number', 6],
  ['{"a":1.}', 'invalid number', 7],
  ['{"a":[1e+ ]}', 'invalid number', 9],
  ['{"a":"\n"}', 'control character in a string', 6],
  ['{"a":{"b\u001f":1}}', 'control character in a string', 8],
  ['{"a":"\\x"}', 'invalid escape in a string', 7],
  ['{"a":"\\u00g0"}', 'invalid escape in a string', 10],
  ['{"a\\":1}', 'the body ends inside the JSON object', 8],
  ['{}{}', 'content after the end of the object', 2],
  ['{"a":1} ,', 'content after the end of the object', 8],
  ['{}\0', 'content after the end of the object', 2],
  ['{"a":1,"b":2,"a":3}', "'a' appears twice", 17],
  ['{"a":1,"\\u0061":"b"}', "'a' appears twice", 16],
]

peek('reports what is wrong with other input, and where, at every split', () => {
  for (const [text, what, at] of BROKEN)
    for (const chunks of splits(Buffer.from(text)))
      assert.equal(peeked(chunks, ALL).fault, [what, at], text)
})

peek('reports nothing after a fault', () => {
  const calls = peeked([Buffer.from('{"a":1,'), Buffer.from(']'), Buffer.from('"b":2}')], ALL)
  assert.equal(calls.members.length, 1)
  assert.is(calls.closed, -1)
  assert.equal(calls.fault, ['expected a member name', 7])
})

peek('accepts a duplicate name that is not of interest or nested deeper', () => {
  assert.is(read('{"a":1,"a":2}', NONE).fault, null)
  assert.is(read('{"a":{"a":1,"a":2},"b":[{"a":1}]}').fault, null)
})

peek('copies values up to the requested length', () => {
  const text = '{"a":"1234","b":[1,2],"c":12345678,"d":{"e":1}}'
  const bounds: Record<string, number> = { a: 6, b: 4, c: 0, d: 7 }
  for (const chunks of splits(Buffer.from(text)))
    assert.equal(peeked(chunks, (name) => bounds[name]!).members, [
      ['a="1234"', 5, 11],
      ['b=…', 16, 21],
      ['c=…', 26, 34],
      ['d={"e":1}', 39, 46],
    ])
  const some = read(text, (name) => (name === 'b' ? 100 : NO_INTEREST))
  assert.equal(some.members, [['b=[1,2]', 16, 21]])
  assert.equal(some.begun, ['a', 'b', 'c', 'd'])
})

peek('reads names up to a bound, with and without escapes', () => {
  const longest = 'n'.repeat(MAX_NAME_BYTES)
  const escaped = '\\u006e'.repeat(85)
  for (const chunks of splits(Buffer.from(`{"${longest}":1,"${longest}x":2,"${escaped}":3,"b":4}`)))
    assert.equal(peeked(chunks, ALL).begun, [longest, 'n'.repeat(85), 'b'])
})

peek('accepts nesting up to the limit, and no deeper', () => {
  const arrays = (depth: number): string => `{"a":${'['.repeat(depth)}${']'.repeat(depth)}}`
  assert.is(read(arrays(MAX_JSON_DEPTH - 1)).fault, null)
  assert.equal(read(arrays(MAX_JSON_DEPTH)).fault, ['values nested deeper than 512', 516])
  const objects = (depth: number): string => '{"a":'.repeat(depth) + '1' + '}'.repeat(depth)
  assert.is(read(objects(MAX_JSON_DEPTH)).fault, null)
  assert.equal(read(objects(MAX_JSON_DEPTH + 1)).fault, ['values nested deeper than 512', 2560])
  assert.is(read(`{"a":[${'[],'.repeat(1000)}[]]}`).fault, null)
})

peek('finds the end of a long string at every split', () => {
  for (const inside of [
    '\\"',
    '\\\\',
    '\\u0022',
    '\\\\\\"',
    'ü',
    '{"model":'.replaceAll('"', '\\"'),
  ])
    for (let before = 0; before < 20; before++) {
      const text = `{"a":"${'x'.repeat(before)}${inside}${'y'.repeat(40)}","model":"m"}`
      for (const chunks of splits(Buffer.from(text)))
        assert.equal(
          peeked(chunks, (name) => (name === 'model' ? 9 : NO_INTEREST)).members.map(([m]) => m),
          ['model="m"'],
          text,
        )
    }
})

// Strings that need escaping, or look like the structure around them.
const STRING = fc.oneof(
  fc.string({ unit: fc.constantFrom('a', 'é', '日', '😀', '"', '\\', '\n', '\0', '/', '{', ']') }),
  fc.constantFrom('model', '"model":"x"', '}', '{"model":1}', 'x'.repeat(70), '\\', '\\\\"'),
  fc.string({ unit: 'binary' }),
)
const TREE = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    STRING,
    fc.oneof(fc.integer(), fc.double({ noDefaultInfinity: true, noNaN: true }), fc.boolean()),
    fc.constant(null),
    fc.array(tie('value'), { maxLength: 5 }),
    fc.dictionary(jsonKeys(STRING), tie('value'), { maxKeys: 5 }),
  ),
})).value
const OBJECT_TEXT = fc
  .tuple(fc.dictionary(jsonKeys(STRING), TREE, { maxKeys: 6 }), fc.constantFrom('', ' ', '\r\n\t'))
  .map(([tree, space]) => JSON.stringify(tree, null, space))
const CUTS = fc.array(fc.nat(), { maxLength: 4 })

function cutAt(bytes: Buffer, cuts: readonly number[]): Buffer[] {
  const positions = [...cuts.map((cut) => cut % (bytes.length + 1)), bytes.length].sort(
    (a, b) => a - b,
  )
  return positions.map((position, i) => bytes.subarray(positions[i - 1] ?? 0, position))
}

peek('finds the members that JSON.parse finds in any object, at any split', () => {
  fc.assert(
    fc.property(OBJECT_TEXT, CUTS, (text, cuts) => {
      const bytes = Buffer.from(text)
      const found = new Map<string, unknown>()
      const machine = new JsonPeek({
        begin: () => bytes.length,
        member: ({ name, from, to, value }) => {
          assert.equal(value, bytes.subarray(from, to))
          found.set(name, JSON.parse(bytes.toString('utf8', from, to)))
        },
        closed: (at) => assert.is(at, bytes.length - 1),
        fault: (what, at) => assert.unreachable(`${what} ${at}: ${text}`),
      })
      for (const chunk of cutAt(bytes, cuts)) machine.write(chunk, 0, chunk.length)
      machine.end()
      // A member with an empty name cannot be of interest.
      const parsed = Object.entries(JSON.parse(text) as object).filter(([name]) => name !== '')
      assert.equal(found, new Map(parsed))
    }),
    { numRuns: 1000 },
  )
})

function isObject(text: string): boolean {
  try {
    const parsed: unknown = JSON.parse(text)
    return typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed)
  } catch {
    return false
  }
}

const PIECE = fc.constantFrom(
  ...['"', '\\', '{', '}', '[', ']', ',', ':', ' ', '0', '1', '-', '+', '.', 'e', 'E', 'u', 'n'],
  ...['null', 'true', '\n', '\t', '\0', '\u001f', 'ü', '""', '[]', '{}', '"a":', '\\u00'],
)

peek('accepts of truncated and changed texts exactly those that JSON.parse accepts', () => {
  fc.assert(
    fc.property(
      OBJECT_TEXT,
      fc.nat(),
      fc.nat(4),
      PIECE,
      CUTS,
      (text, seed, removed, piece, cuts) => {
        const at = seed % (text.length + 1)
        const changed = [
          text.substring(0, at),
          text.substring(0, at) + text.substring(at + removed),
          text.substring(0, at) + piece + text.substring(at + removed),
        ]
        for (const each of changed) {
          // A split surrogate pair becomes U+FFFD for both.
          const bytes = Buffer.from(each)
          const { fault } = peeked(cutAt(bytes, cuts), NONE)
          assert.is(fault === null, isObject(bytes.toString()), JSON.stringify(each))
        }
      },
    ),
    { numRuns: 3000 },
  )
})

peek('accepts of random pieces exactly those that JSON.parse accepts', () => {
  fc.assert(
    fc.property(fc.array(PIECE, { maxLength: 8 }), (pieces) => {
      const text = `{"a":${pieces.join('')}}`
      assert.is(read(text, NONE).fault === null, isObject(text), JSON.stringify(text))
    }),
    { numRuns: 5000 },
  )
})

peek.run()
