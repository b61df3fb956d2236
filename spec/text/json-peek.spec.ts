// Peeking at JSON on its way. JSON.parse is the judge of what is JSON and of what its members are.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { JsonPeek } from '../../lib/text/json-peek.ts'
import { MAX_NAME_BYTES, NO_INTEREST } from '../../lib/text/json-members.ts'
import { MAX_JSON_DEPTH } from '../../lib/text/json-scan.ts'
import { fc } from '../support/fast-check.ts'
import { splits } from '../support/splits.ts'
import { jsonKeys } from '../support/json-keys.ts'

/** What the owner of a peek heard, as text. */
interface Heard {
  begun: string[]
  /** `name=value` and where. */
  members: [text: string, from: number, to: number][]
  closed: number
  fault: [what: string, at: number] | null
  hasMembers: boolean
}

type Interest = (name: string) => number
const ALL: Interest = () => 1_000_000
const NONE: Interest = () => NO_INTEREST

function peeked(chunks: readonly Buffer[], interest: Interest): Heard {
  const heard: Heard = { begun: [], members: [], closed: -1, fault: null, hasMembers: false }
  const machine = new JsonPeek({
    begin: (name) => {
      heard.begun.push(name)
      return interest(name)
    },
    member: ({ name, from, to, value }) =>
      heard.members.push([`${name}=${value === null ? '…' : value.toString()}`, from, to]),
    closed: (at) => (heard.closed = at),
    fault: (what, at) => {
      assert.is(heard.fault, null, 'one fault at most')
      heard.fault = [what, at]
    },
  })
  for (const chunk of chunks) {
    // The bytes are gone after the call, and do not begin where their buffer does.
    const lent = Buffer.concat([Buffer.from('"{['), chunk, Buffer.from('\\"}')])
    machine.write(lent, 3, lent.length - 3)
    lent.fill(0)
  }
  machine.end()
  assert.is(machine.isOver, heard.fault === null)
  heard.hasMembers = machine.hasMembers
  return heard
}

function read(text: string, interest = ALL): Heard {
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

peek('tells the members of the root and where they lie, at every split', () => {
  for (const [text, members] of OBJECTS) {
    const bytes = Buffer.from(text)
    for (const chunks of splits(bytes)) {
      const heard = peeked(chunks, ALL)
      assert.is(heard.fault, null, text)
      assert.equal(
        heard.members.map(([member]) => member),
        members,
        text,
      )
      for (const [member, from, to] of heard.members)
        assert.is(bytes.toString('utf8', from, to), member.slice(member.indexOf('=') + 1))
      assert.is(heard.closed, bytes.lastIndexOf('}'))
      assert.is(heard.hasMembers, members.length > 0)
    }
  }
})

peek('tolerates a byte order mark, and counts it', () => {
  for (const chunks of splits(Buffer.from('\ufeff {"a":1}'))) {
    const heard = peeked(chunks, ALL)
    assert.is(heard.fault, null)
    assert.equal(heard.members, [['a=1', 9, 10]])
    assert.is(heard.closed, 10)
  }
  assert.equal(read(' \ufeff{}').fault, ['no object at its root', 1])
  assert.equal(read('\ufeff\ufeff{}').fault, ['no object at its root', 3])
  for (const chunks of splits(Buffer.from('efbb7b7d', 'hex')))
    assert.equal(peeked(chunks, ALL).fault, ['no object at its root', 2])
})

const BROKEN: [text: string, what: string, at: number][] = [
  ['', 'no content', 0],
  ['  \n', 'no content', 3],
  ['[]', 'no object at its root', 0],
  [' "a"', 'no object at its root', 1],
  ['null', 'no object at its root', 0],
  ['{', 'no end', 1],
  ['{"a":1', 'no end', 6],
  ['{"a":"b\\"}', 'no end', 10],
  ['{a:1}', 'no member name where one is expected', 1],
  ['{"a":1,}', 'no member name where one is expected', 7],
  ['{,"a":1}', 'no member name where one is expected', 1],
  ['{"a" 1}', 'no colon after a name', 5],
  ['{"a"}', 'no colon after a name', 4],
  ['{"a":}', 'no value where one is expected', 5],
  ['{"a"::1}', 'no value where one is expected', 5],
  ['{"a":truE}', 'no value where one is expected', 8],
  ['{"a":nul}', 'no value where one is expected', 8],
  ['{"a":+1}', 'no value where one is expected', 5],
  ['{"a":[1,]}', 'no value where one is expected', 8],
  ['{"a":[,1]}', 'no value where one is expected', 6],
  ['{"a":1 "b":2}', 'no comma after a value', 7],
  ['{"a":"b" x}', 'no comma after a value', 9],
  ['{"a":[1}', 'no comma after a value', 7],
  ['{"a":{"b":1]}', 'no comma after a value', 11],
  ['{"a":[1 2]}', 'no comma after a value', 8],
  ['{"a":1]', 'no comma after a value', 6],
  ['{"a":01}', 'no comma after a value', 6],
  ['{"a":-}', 'a bad number', 6],
  ['{"a":--1}', 'a bad number', 6],
  ['{"a":1.}', 'a bad number', 7],
  ['{"a":[1e+ ]}', 'a bad number', 9],
  ['{"a":"\n"}', 'a control byte in a string', 6],
  ['{"a":{"b\u001f":1}}', 'a control byte in a string', 8],
  ['{"a":"\\x"}', 'a bad escape in a string', 7],
  ['{"a":"\\u00g0"}', 'a bad escape in a string', 10],
  ['{"a\\":1}', 'no end', 8],
  ['{}{}', 'content after its end', 2],
  ['{"a":1} ,', 'content after its end', 8],
  ['{}\0', 'content after its end', 2],
  ['{"a":1,"b":2,"a":3}', "'a' twice", 17],
  ['{"a":1,"\\u0061":"b"}', "'a' twice", 16],
]

peek('tells what is wrong with all else, and where, at every split', () => {
  for (const [text, what, at] of BROKEN)
    for (const chunks of splits(Buffer.from(text)))
      assert.equal(peeked(chunks, ALL).fault, [what, at], text)
})

peek('says no more after a fault', () => {
  const heard = peeked([Buffer.from('{"a":1,'), Buffer.from(']'), Buffer.from('"b":2}')], ALL)
  assert.equal(heard.members.length, 1)
  assert.is(heard.closed, -1)
  assert.equal(heard.fault, ['no member name where one is expected', 7])
})

peek('does not mind a name twice that nobody is interested in, or that lies deeper', () => {
  assert.is(read('{"a":1,"a":2}', NONE).fault, null)
  assert.is(read('{"a":{"a":1,"a":2},"b":[{"a":1}]}').fault, null)
})

peek('keeps of a value as much as was asked for', () => {
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

peek('knows names up to a bound, however they are spelt', () => {
  const most = 'n'.repeat(MAX_NAME_BYTES)
  const escaped = '\\u006e'.repeat(85)
  for (const chunks of splits(Buffer.from(`{"${most}":1,"${most}x":2,"${escaped}":3,"b":4}`)))
    assert.equal(peeked(chunks, ALL).begun, [most, 'n'.repeat(85), 'b'])
})

peek('goes as deep as it is allowed to, and no deeper', () => {
  const arrays = (depth: number): string => `{"a":${'['.repeat(depth)}${']'.repeat(depth)}}`
  assert.is(read(arrays(MAX_JSON_DEPTH - 1)).fault, null)
  assert.equal(read(arrays(MAX_JSON_DEPTH)).fault, ['values nested deeper than 512', 516])
  const objects = (depth: number): string => '{"a":'.repeat(depth) + '1' + '}'.repeat(depth)
  assert.is(read(objects(MAX_JSON_DEPTH)).fault, null)
  assert.equal(read(objects(MAX_JSON_DEPTH + 1)).fault, ['values nested deeper than 512', 2560])
  assert.is(read(`{"a":[${'[],'.repeat(1000)}[]]}`).fault, null)
})

peek('finds the end of a long string wherever it is cut', () => {
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

// Strings that need escaping, or look like what lies around them.
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
  const places = [...cuts.map((cut) => cut % (bytes.length + 1)), bytes.length].sort(
    (a, b) => a - b,
  )
  return places.map((place, i) => bytes.subarray(places[i - 1] ?? 0, place))
}

peek('finds in any object, cut anywhere, the members that JSON.parse finds', () => {
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
      // A member without a name cannot be asked for.
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

peek('takes what JSON.parse takes of cut and changed texts', () => {
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
          // A cut surrogate pair is written as U+FFFD, by both.
          const bytes = Buffer.from(each)
          const { fault } = peeked(cutAt(bytes, cuts), NONE)
          assert.is(fault === null, isObject(bytes.toString()), JSON.stringify(each))
        }
      },
    ),
    { numRuns: 3000 },
  )
})

peek('takes what JSON.parse takes of pieces in any order', () => {
  fc.assert(
    fc.property(fc.array(PIECE, { maxLength: 8 }), (pieces) => {
      const text = `{"a":${pieces.join('')}}`
      assert.is(read(text, NONE).fault === null, isObject(text), JSON.stringify(text))
    }),
    { numRuns: 5000 },
  )
})

peek.run()
