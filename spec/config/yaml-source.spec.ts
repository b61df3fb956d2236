import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { parseSources } from '../../lib/config/yaml-source.ts'
import { problemsOf } from '../support/config.ts'

const source = suite('configuration source')

source('reports the position of invalid YAML', () => {
  assert.equal(problemsOf('a: [1\nb: 2\n'), [
    'c.yaml:2:1: invalid YAML: wrong indentation, or an unclosed bracket before this place',
  ])
  assert.equal(problemsOf('a: 1\na: 2\nb: 1\nb: 2\n'), [
    'c.yaml:2:1: invalid YAML: a second key of the same name in one object',
    'c.yaml:4:1: invalid YAML: a second key of the same name in one object',
  ])
  assert.match(problemsOf('a: [${A}, b', { A: '1' })[0]!, /^c\.yaml:1:\d+: invalid YAML: /)
})

source('reports only the first syntax error of a document', () => {
  assert.equal(problemsOf('a: {b: 1}}\nkey: [{ key: 1 }]\n'), [
    "c.yaml:1:10: invalid YAML: unexpected '}'",
  ])
  assert.equal(problemsOf('a: }\n---\nb: ]\n'), [
    "c.yaml:1:4: invalid YAML: unexpected '}'",
    "c.yaml:3:4: invalid YAML: unexpected ']'",
  ])
})

// Texts whose secret PLANTED would be quoted by the messages of the parser.
const INVALID_TEXTS = [
  'a: }\n  key: PLANTED',
  'a: { b: 1 }}\nkey: { PLANTED: PLANTED }',
  "key: 'PLANTED\nPLANTED'\nPLANTED",
  'key: |PLANTED\n  x',
  'key: >-PLANTED\n  x',
  'key: "\\PLANTED"',
  'key: "\\uPLANTED"',
  'key: @PLANTED',
  'key: `PLANTED`',
  'key: %PLANTED',
  '%PLANTED\n---\nkey: 1',
  '%YAML PLANTED\n---\nkey: 1',
  'key: !PLANTED',
  'key: !PLANTED!PLANTED x',
  'key: !!PLANTED x',
  'key: !<PLANTED x',
  'key: *PLANTED',
  'key: &PLANTED &PLANTED x',
  'key: &PLANTED: x',
  'key: [PLANTED PLANTED: PLANTED\n  PLANTED: PLANTED]',
  'key: {PLANTED, , PLANTED}',
  'key: "PLANTED" PLANTED',
  'key: [PLANTED] PLANTED',
  'key: PLANTED: PLANTED',
  'PLANTED: 1\nPLANTED: 2',
  'key:\n\tPLANTED: PLANTED',
  '- PLANTED\nPLANTED: 1',
  'key: PLANTED\n  PLANTED: PLANTED',
  '? PLANTED\n: PLANTED\n]',
  'key: !!int PLANTED',
  'key: !!binary PLANTED\n}',
]

source('never quotes the file when YAML is invalid', () => {
  for (const text of INVALID_TEXTS) {
    const problems = problemsOf(`${text}\n`)
    assert.ok(problems.length > 0, text)
    for (const problem of problems) assert.not.match(problem, 'PLANTED', text)
  }
})

source('resolves anchors, aliases and merge keys', () => {
  const text =
    'base: &b { x: 1, y: 2 }\none: { <<: *b, y: 3 }\ntwo: *b\nthree: { <<: [*b, { z: 4 }] }'
  assert.equal(parseSources(text, 'c.yaml', {})[0]!.data, {
    base: { x: 1, y: 2 },
    one: { x: 1, y: 3 },
    two: { x: 1, y: 2 },
    three: { x: 1, y: 2, z: 4 },
  })
})

source('reports the position of the anchor for aliased and merged values', () => {
  const text = [
    'gateways:',
    '  a: &a',
    '    port: x',
    '  b:',
    '    <<: *a',
    '    address: 127.0.0.1',
    '  c: *a',
  ].join('\n')
  assert.equal(problemsOf(text), [
    'c.yaml:3:11: gateways.a.port: got a string, expected a number',
    'c.yaml:3:11: gateways.b.port: got a string, expected a number',
    'c.yaml:3:11: gateways.c.port: got a string, expected a number',
  ])
})

const LETTERS = 'abcdefghi'.split('')

function bomb(open: string, close: string, first: string): string {
  const lines = LETTERS.slice(1).map((name, at) => {
    const many = Array.from({ length: 9 }, () => `*${LETTERS[at]!}`).join(', ')
    return `${name}: &${name} ${open}${many}${close}`
  })
  return [`a: &a ${first}`, ...lines].join('\n')
}

source('refuses aliases that expand without limit', () => {
  const expected = ['c.yaml:1:1: too many aliases, expected them to expand to at most 100 parts']
  assert.equal(problemsOf(bomb('[', ']', '[x]')), expected)
  assert.equal(problemsOf(bomb('{ <<: [', '] }', '{ x: 1 }')), [
    'c.yaml:8:9: h: too long a chain of merge keys, expected at most 6',
  ])
  assert.equal(
    problemsOf(bomb('{ <<: [', '] }', '{ x: 1 }').split('\n').slice(0, 7).join('\n')),
    expected,
  )
})

/** Maps that merge each other in a row. */
function chain(links: number): string {
  const lines = Array.from(
    { length: links },
    (_, at) => `m${at + 1}: &m${at + 1} { <<: *m${at}, k${at}: 1 }`,
  )
  return ['m0: &m0 { x: 1 }', ...lines].join('\n')
}

source('refuses long chains of merge keys and many aliases at once', () => {
  const data = parseSources(chain(6), 'c.yaml', {})[0]!.data as Record<string, object>
  assert.is(Object.keys(data['m6']!).length, 7)
  const tooLong = 'c.yaml:8:11: m7: too long a chain of merge keys, expected at most 6'
  assert.equal(problemsOf(chain(7)), [tooLong])
  assert.equal(problemsOf(chain(3_000)), [
    tooLong,
    'c.yaml:1002:21: m1001["<<"]: too many aliases, expected at most 1000',
  ])
})

source('refuses an alias without an anchor', () => {
  assert.equal(problemsOf('gateways:\n  a: *nope'), [
    'c.yaml:2:6: gateways.a: unknown alias, expected an anchor above (quote text that begins with *)',
  ])
})

source('accepts an alias to its own parent without recursion', () => {
  assert.equal(problemsOf('gateways: &g { a: *g }'), [
    "c.yaml:1:16: gateways.a.a: unknown field 'a', expected one of 'port', 'address', 'namespace', 'protocol', 'tls', 'listeners', 'cors', 'jwtAuth', 'basicAuth', 'apiKey', 'authorization', 'transformations'",
    'c.yaml:1:19: gateways.a.port is required',
  ])
})

source('refuses keys that are not text', () => {
  assert.equal(problemsOf('gateways:\n  ? [a]\n  : 1'), [
    'c.yaml:2:5: gateways: got a key that is not text, expected a name',
  ])
})

source('refuses keys that a tag turned into bytes', () => {
  assert.equal(problemsOf('gateways:\n  !!binary aGk=: 1'), [
    'c.yaml:2:12: gateways: got a key that is not text, expected a name',
  ])
})

source('treats __proto__ as any other key', () => {
  assert.equal(problemsOf('__proto__: { gateways: { a: { port: 1 } } }'), [
    "c.yaml:1:1: __proto__: unknown field '__proto__', expected one of 'config', 'frontendPolicies', 'gateways', 'routes', 'backends', 'mcp', 'llm', 'ui'",
  ])
})

source('counts lines with CRLF line ends', () => {
  assert.equal(problemsOf('gateways:\r\n  a:\r\n    port: x\r\n'), [
    'c.yaml:3:11: gateways.a.port: got a string, expected a number',
  ])
})

source.run()
