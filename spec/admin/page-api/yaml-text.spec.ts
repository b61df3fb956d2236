// YAML for people that also parses to the data it was made of.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { parse } from 'yaml'
import { PlacedFields, formatYaml } from '../../../lib/admin/page-api/config-view.ts'
import { fc } from '../../support/fast-check.ts'

const test = suite('ui/yaml-text')

const MOST = 1_000_000

test('is formatted as people write it', () => {
  const text = formatYaml(
    {
      name: 'default',
      address: '127.0.0.1:80',
      timeout: '10s',
      url: 'https://a.example/x?y=1',
      none: null,
      left: undefined,
      on: true,
      empty: [],
      nothing: {},
      list: ['a', 1, ['b', 'c'], {}, { x: 1, z: [2] }],
      words: 'two words',
      odd: 'a: b',
      star: '*',
      rule: 'jwt.sub == "a"',
      both: `a["b"] == 'c'`,
      regex: '\\d+',
      unseen: '"\u200b\n"',
    },
    MOST,
  )
  assert.is(
    text,
    `name: default
address: 127.0.0.1:80
timeout: 10s
url: "https://a.example/x?y=1"
none: null
"on": true
empty: []
nothing: {}
list:
  - a
  - 1
  -
    - b
    - c
  - {}
  - x: 1
    z:
      - 2
words: two words
odd: "a: b"
star: "*"
rule: 'jwt.sub == "a"'
both: "a[\\"b\\"] == 'c'"
regex: '\\d+'
unseen: "\\"\u200b\\n\\""
`,
  )
})

test('names the file position on the first line of a part', () => {
  const inner = new PlacedFields({ key: 'b', list: [1] }, 'c.yaml:7')
  const whole = { one: new PlacedFields({ key: 'a', parts: [inner] }, 'c.yaml:5'), two: 2 }
  assert.is(
    formatYaml(whole, MOST),
    `one:
  key: a # c.yaml:5
  parts:
    - key: b # c.yaml:7
      list:
        - 1
two: 2
`,
  )
})

test('a file name cannot break out of its comment', () => {
  const text = formatYaml({ a: new PlacedFields({ key: 'b' }, 'x\nevil: 1\r# y:1') }, MOST)
  assert.equal(parse(text), { a: { key: 'b' } })
  assert.is(text.split('\n').length, 3)
})

test('stops at its limit with a comment, and does not build the rest', () => {
  let made = 0
  function* parts(): Generator<PlacedFields> {
    for (;;) yield new PlacedFields({ key: `k${++made}`, text: 'x'.repeat(90) }, 'c.yaml:1')
  }
  const text = formatYaml({ parts: parts() }, 1_000)
  assert.ok(text.length < 1_100)
  assert.ok(made < 12)
  assert.match(text, /# cut here: the text is longer than 1000 characters\n$/)
  const { parts: read } = parse(text) as { parts: { key: string }[] }
  assert.is(read[0]?.key, 'k1')
})

const scalar = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.string(),
  fc.constantFrom('', ' ', '-', '- a', '#', 'a #b', 'a:', ': a', '1', '1.0', '0x1', '1e3', '.5'),
  fc.constantFrom('true', 'No', 'NULL', '~', 'y', '<<', '!x', '&a', '*a', '|', '>', '%', '@', '`'),
  fc.constantFrom(
    'a\nb',
    'a\n',
    '\tb',
    "'",
    '"',
    '\\',
    '1:30',
    '2020-01-01',
    '=',
    '?',
    '? a',
    '...',
  ),
  fc.integer(),
  fc.boolean(),
  fc.constant(null),
)

const { tree } = fc.letrec((tie) => ({
  tree: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    scalar,
    fc.array(tie('tree'), { maxLength: 4 }),
    fc.dictionary(fc.string(), tie('tree'), { maxKeys: 4, noNullPrototype: true }),
  ),
}))

test('parses to the data it was made of', () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), tree, { noNullPrototype: true }), (data) => {
      // `__proto__` is an ordinary key in YAML, but not in an object literal.
      fc.pre(!JSON.stringify(data).includes('"__proto__"'))
      const text = formatYaml(data as Record<string, unknown>, MOST)
      assert.equal(text === '' ? {} : parse(text, { uniqueKeys: true }), data)
    }),
    { numRuns: 1000 },
  )
})

test.run()
