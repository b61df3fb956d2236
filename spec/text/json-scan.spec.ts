// JSON read in place. JSON.parse decides what is JSON and where its parts are.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import {
  MAX_JSON_DEPTH,
  listItems,
  listMembers,
  readJsonString,
  findJsonValue,
} from '../../lib/text/json-scan.ts'
import type { ByteSpan } from '../../lib/text/json-scan.ts'
import { fc } from '../support/fast-check.ts'
import { places } from '../support/splits.ts'
import { jsonKeys } from '../support/json-keys.ts'

const scan = suite('json scan')

/** The text of the value, or null if there is none. */
function read(text: string | Buffer): string | null {
  const bytes = Buffer.from(text)
  const span = findJsonValue(bytes)
  return span === null ? null : textAt(bytes, span)
}

function textAt(bytes: Buffer, { from, to }: ByteSpan): string {
  return bytes.toString('utf8', from, to)
}

function isParsed(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

function parsed(text: string): [bytes: Buffer, value: ByteSpan] {
  const bytes = Buffer.from(text)
  const value = findJsonValue(bytes)
  assert.ok(value, text)
  return [bytes, value]
}

/** Each member as `key=text`. */
function members(text: string): string[] {
  const [bytes, value] = parsed(text)
  return listMembers(bytes, value).map((member) => `${member.key}=${textAt(bytes, member)}`)
}

function items(text: string): string[] {
  const [bytes, value] = parsed(text)
  return listItems(bytes, value).map((item) => textAt(bytes, item))
}

const NUMBERS = ['0', '-0', '7', '-12', '10', '0.5', '1.0', '1e2', '1E+2', '0e-1', '-1.25e10']
const LITERALS = ['true', 'false', 'null']
const STRINGS = [
  '""',
  '"a"',
  '" "',
  '"\\""',
  '"\\\\"',
  '"\\\\\\""',
  '"\\/\\b\\f\\n\\r\\t"',
  '"\\u0041\\uD83d\\uDE00"',
  '"\\ud800"',
  '"\u007f"',
  '"größer 日本 😀"',
  `"${'a'.repeat(200)}"`,
  `"${'ü'.repeat(200)}\\\\"`,
]
const NESTED = [
  '{}',
  '[]',
  '{ }',
  '[\r\n]',
  '[1]',
  '[[],{}]',
  '{"a":{"b":[{"c":null}]}}',
  '{"":""}',
  '[ 1 , "a" , { "b" : [ ] , "c" : -1 } ]',
]

scan('finds a value of any kind, with white space around it', () => {
  for (const text of [...NUMBERS, ...LITERALS, ...STRINGS, ...NESTED])
    for (const around of ['', ' ', '\t\r\n ']) assert.is(read(around + text + around), text, text)
})

const MALFORMED = [
  ...['', ' ', '\ufeff1', '1 2', '{}{}', '1,', ',', ':', 'undefined', 'NaN', "'a'", '\0', '1\0'],
  ...['-', '+1', '01', '-01', '00', '.5', '1.', '1.e1', '1e', '1e+', '1e1.0', '--1', '0x1', '1_0'],
  ...['tru', 'truE', 'True', 'truee', 'nul', 'nulll', 'fals', 't', 'f', 'n', 'true1'],
  ...['"', '"a', '"\\', '"\\"', '"\\x"', '"\\u"', '"\\u12"', '"\\u12g4"', '"\\u123"', '"a"b'],
  ...['"\n"', '"\t"', '"\0"', '"\u001f"', `"${'a'.repeat(200)}\n"`, `"${'a'.repeat(200)}`],
  ...['[', ']', '[1', '[1,', '[1,]', '[,1]', '[1 2]', '[1}', '[1,,2]', '[:]', '["a":1]'],
  ...['{', '}', '{"a"', '{"a":', '{"a":1', '{"a":1,', '{"a":1,}', '{,}', '{"a"}', '{"a" 1}'],
  ...['{a:1}', "{'a':1}", '{1:1}', '{"a":1]', '{"a":1 "b":2}', '{"a"::1}', '{"a":1,,"b":2}'],
  ...['[\f1]', '[\v1]', '[\u00a01]', '[1]\u2028', '// a\n1', '/**/1', '[1]#'],
]

scan('refuses everything else', () => {
  for (const text of MALFORMED) {
    assert.is(isParsed(text), false, JSON.stringify(text))
    assert.is(read(text), null, JSON.stringify(text))
  }
})

scan('refuses every incomplete value', () => {
  const text = '{"a": [1.5e-3, true, {"b\\u0041": "\\\\\\""}], "c": null}'
  for (const at of places(text.length)) assert.is(read(text.substring(0, at)), null)
})

scan('refuses bytes that are not UTF-8', () => {
  for (const wrong of ['ff', 'c3', 'c328', 'c0af', 'e28228', 'eda080', 'f4908080', '80'])
    assert.is(read(Buffer.from(`22${wrong}22`, 'hex')), null, wrong)
})

scan('accepts nesting up to the limit, and no deeper', () => {
  const deep = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth)
  assert.is(read(deep(MAX_JSON_DEPTH)), deep(MAX_JSON_DEPTH))
  assert.is(read(deep(MAX_JSON_DEPTH + 1)), null)
  const objects = (depth: number): string => '{"a":'.repeat(depth) + '1' + '}'.repeat(depth)
  assert.is(read(objects(MAX_JSON_DEPTH)), objects(MAX_JSON_DEPTH))
  assert.is(read(objects(MAX_JSON_DEPTH + 1)), null)
  assert.is(read('['.repeat(1_000_000)), null)
  const many = `[${'[],'.repeat(1000)}[]]`
  assert.is(read(many), many)
})

scan('finds every special byte of a string at every position and length', () => {
  const special: [byte: string, reads: boolean][] = [
    ['\\\\', true],
    ['\\"', true],
    ['ü', true],
    ['"', false],
    ['\\', false],
    ['\n', false],
    ['\u001f', false],
    ['\0', false],
  ]
  for (const length of [5, 127, 128, 129, 150])
    for (const [inserted, reads] of special)
      for (let at = 0; at <= length; at++) {
        const text = `["${'x'.repeat(at)}${inserted}${'x'.repeat(length - at)}!"]`
        assert.is(read(text), reads ? text : null, text)
        if (reads) assert.equal(items(text), [text.slice(1, -1)])
      }
})

scan('reads from a part of a larger buffer', () => {
  const all = Buffer.from(`"${'b'.repeat(300)}" {"a": "${'c'.repeat(300)}"} "`)
  for (const from of [302, 303]) {
    const part = all.subarray(from, all.length - 2)
    const value = findJsonValue(part)
    assert.ok(value)
    assert.is(readJsonString(part, listMembers(part, value)[0]!), 'c'.repeat(300))
  }
})

scan('lists the members of an object, with duplicates and in order', () => {
  assert.equal(members('{}'), [])
  assert.equal(members(' { } '), [])
  assert.equal(members('{"a":1}'), ['a=1'])
  assert.equal(members('\n{ "a" : 1 , "b":[1,{"a":2}],"c"\t:\r{"}":"]"} }'), [
    'a=1',
    'b=[1,{"a":2}]',
    'c={"}":"]"}',
  ])
  assert.equal(members('{"a":1,"b":true,"a":-1.0e+5,"":null}'), [
    'a=1',
    'b=true',
    'a=-1.0e+5',
    '=null',
  ])
  assert.equal(members('{"__proto__":"\\"","x":"\\\\"}'), ['__proto__="\\""', 'x="\\\\"'])
})

scan('decodes keys', () => {
  assert.equal(members('{"n\\u0061me":1,"\\"":2,"größe":3,"😀\\n":4,"\\ud83d\\ude00":5}'), [
    'name=1',
    '"=2',
    'größe=3',
    '😀\n=4',
    '😀=5',
  ])
  const long = 'k'.repeat(300)
  assert.equal(members(`{"${long}\\u0041":1,"${long}":2}`), [`${long}A=1`, `${long}=2`])
})

scan('lists the items of an array', () => {
  assert.equal(items('[]'), [])
  assert.equal(items('[ ]'), [])
  assert.equal(items('[1,-2.5 , "a,]" ,[ [1] ],{"a":[]} , null]'), [
    '1',
    '-2.5',
    '"a,]"',
    '[ [1] ]',
    '{"a":[]}',
    'null',
  ])
})

scan('finds no members and no items in other values', () => {
  for (const text of ['1', '"{}"', 'null', '[{"a":1}]']) assert.equal(members(text), [], text)
  for (const text of ['1', '"[]"', 'null', '{"a":[1]}']) assert.equal(items(text), [], text)
})

scan('reads the text of strings, and of no other value', () => {
  for (const text of [...STRINGS, ...NUMBERS, ...LITERALS, ...NESTED]) {
    const value: unknown = JSON.parse(text)
    assert.is(readJsonString(...parsed(text)), typeof value === 'string' ? value : undefined, text)
  }
})

/** The value at the span, rebuilt from members, items and strings. */
function rebuilt(bytes: Buffer, value: ByteSpan): unknown {
  const first = bytes.toString('latin1', value.from, value.from + 1)
  if (first === '[') return listItems(bytes, value).map((item) => rebuilt(bytes, item))
  if (first === '{')
    return Object.fromEntries(listMembers(bytes, value).map((m) => [m.key, rebuilt(bytes, m)]))
  return readJsonString(bytes, value) ?? JSON.parse(textAt(bytes, value))
}

// Strings that reach over the length at which the method of reading changes, with characters that need escaping.
const STRING = fc.oneof(
  fc.string({ unit: fc.constantFrom('a', 'é', '日', '😀', '"', '\\', '\n', '\0', '/', '{', ']') }),
  fc.integer({ min: 100, max: 300 }).map((length) => 'x'.repeat(length) + '\\"'),
  fc.string({ unit: 'binary' }),
)
const TREE = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    STRING,
    fc.oneof(fc.integer(), fc.double({ noDefaultInfinity: true, noNaN: true }), fc.boolean()),
    fc.constant(null),
    fc.array(tie('value'), { maxLength: 5 }),
    fc.dictionary(jsonKeys(STRING), tie('value'), { maxKeys: 5 }),
  ),
})).value
const JSON_TEXT = fc
  .tuple(TREE, fc.constantFrom('', ' ', '\r\n\t'))
  .map(([tree, space]) => JSON.stringify(tree, null, space))

scan('finds in any value what JSON.parse finds', () => {
  fc.assert(
    fc.property(JSON_TEXT, (text) => {
      assert.is(read(text), text)
      assert.equal(rebuilt(...parsed(text)), JSON.parse(text))
    }),
    { numRuns: 1000 },
  )
})

const PIECE = fc.constantFrom(
  ...['"', '\\', '{', '}', '[', ']', ',', ':', ' ', '0', '1', '-', '+', '.', 'e', 'E', 'u', 'n'],
  ...['null', 'true', '\n', '\t', '\0', '\u001f', '\ufeff', 'ü', '""', '[]', '{}', '"a":', '\\u00'],
)

scan('accepts of truncated and changed texts exactly those that JSON.parse accepts', () => {
  fc.assert(
    fc.property(JSON_TEXT, fc.nat(), fc.nat(4), PIECE, (text, seed, removed, piece) => {
      const at = seed % (text.length + 1)
      const changed = [
        text.substring(0, at),
        text.substring(at),
        text.substring(0, at) + text.substring(at + removed),
        text.substring(0, at) + piece + text.substring(at + removed),
      ]
      for (const each of changed) {
        // A split surrogate pair becomes U+FFFD for both.
        const written = Buffer.from(each).toString()
        assert.is(read(each) !== null, isParsed(written), JSON.stringify(each))
      }
    }),
    { numRuns: 3000 },
  )
})

scan('accepts of random pieces exactly those that JSON.parse accepts', () => {
  fc.assert(
    fc.property(fc.array(PIECE, { maxLength: 8 }), (pieces) => {
      const text = pieces.join('')
      assert.is(read(text) !== null, isParsed(text), JSON.stringify(text))
    }),
    { numRuns: 5000 },
  )
})

scan.run()
