import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { ExpandedText, expandVariables, VariableMask } from '../../lib/config/expand-variables.ts'
import { parseSources } from '../../lib/config/yaml-source.ts'
import { problemsOf } from '../support/config.ts'
import { fc } from '../support/fast-check.ts'

const expansion = suite('expansion of variables')

function dataOf(text: string, env: Record<string, string> = {}): unknown {
  return parseSources(text, 'c.yaml', env)[0]!.data
}

expansion('gives an expanded plain scalar its YAML type', () => {
  const env = { N: '3000', T: 'true', F: '1.5', S: 'text', E: '', H: '0x10' }
  const text = 'n: ${N}\nt: ${T}\nf: ${F}\ns: ${S}\ne: ${E}\nh: ${H}\nj: ${N}1'
  const expected = { n: 3000, t: true, f: 1.5, s: 'text', e: null, h: 16, j: 30001 }
  assert.equal(dataOf(text, env), expected)
})

expansion('keeps a quoted or block scalar a string', () => {
  const text = `a: "\${N}"\nb: '\${N}'\nc: |-\n  \${N}\nd: !!str \${N}`
  assert.equal(dataOf(text, { N: '1' }), { a: '1', b: '1', c: '1', d: '1' })
})

expansion('works inside flow collections', () => {
  const env = { A: '1', B: 'two' }
  assert.equal(dataOf('{ a: ${A}, b: [${A}, ${B}, x-${B}] }', env), {
    a: 1,
    b: [1, 'two', 'x-two'],
  })
})

expansion('uses the default only for an unset or empty variable', () => {
  const text = 'a: ${U:-7}\nb: ${E:-x: y}\nc: ${S:-no}\nd: [${U:-}, "${U:-a \\"b\\"}"]'
  assert.equal(dataOf(text, { E: '', S: 'set' }), {
    a: 7,
    b: { x: 'y' },
    c: 'set',
    d: [null, 'a "b"'],
  })
})

expansion('replaces $$ by $ and keeps a single $', () => {
  assert.equal(dataOf('a: $$\nb: $${N}\nc: $N\nd: ^/x$\ne: $$$${N}\nf: $$${N}', { N: '1' }), {
    a: '$',
    b: '${N}',
    c: '$N',
    d: '^/x$',
    e: '$${N}',
    f: '$1',
  })
})

expansion('does not expand references in expanded values', () => {
  assert.equal(
    dataOf('a: "${A}"\nb: ${B}\n${B}: ${C}', { A: '${B}$$', B: '$${A}', C: '["${A}"]' }),
    {
      a: '${B}$$',
      b: '$${A}',
      '$${A}': ['${A}'],
    },
  )
})

expansion('expands keys', () => {
  const text = '${K}: 1\na: { ${K}: 2, "${K}-${L}": 3 }\nx-${L}:\n  ? ${K}\n  : 4\n'
  assert.equal(dataOf(text, { K: 'k', L: 'l' }), {
    k: 1,
    a: { k: 2, 'k-l': 3 },
    'x-l': { k: 4 },
  })
  assert.equal(problemsOf('a: { "${K}": 1, "${L}": 2, ${K}: 3 }', { K: 'x', L: 'x' }), [
    'c.yaml:1:17: a: invalid YAML: a second key of the same name in one object',
    'c.yaml:1:28: a: invalid YAML: a second key of the same name in one object',
  ])
})

expansion('ignores references in comments', () => {
  const text = '# ${NOPE}\na: 1 # ${NOPE\nb: [ # ${NOPE}\n  2]\nc: | # ${NOPE}\n  # ${YES}\n'
  assert.equal(dataOf(text, { YES: 'yes' }), { a: 1, b: [2], c: '# yes\n' })
})

expansion('lets a whole value be any YAML', () => {
  const list = ['a', { b: 'c' }]
  for (const value of [
    '[a, { b: c }]',
    '["a", {"b": "c"}]',
    '[\n  "a",\n  {\n    "b": "c"\n  }\n]\n',
    '- a\n- b: c',
    '\r\n  - a\r\n  # two\r\n  - b: c\r\n',
  ]) {
    const text = 'x:\n  args: ${V} # these\n  next: [1]\ny:\n- ${V}\nz: &z\n  ${V}\n'
    const expected = { x: { args: list, next: [1] }, y: [list], z: list }
    assert.equal(dataOf(text, { V: value }), expected, value)
  }
  assert.equal(dataOf('a: ${V}\nb: 1', { V: 'x: |\n  1\n  2' }), { a: { x: '1\n2\n' }, b: 1 })
  assert.equal(dataOf('${V}', { V: 'a: 1\nb: [2]\n' }), { a: 1, b: [2] })
})

expansion('inserts a value into the text around it', () => {
  const env = { MORE: 'b, c', PAIR: 'k: v', LINES: 'l1: 1\nl2: 2', HOST: 'h', PORT: '80' }
  assert.equal(dataOf('a: [x, ${MORE}]\nb: { ${PAIR} }\nc: ${HOST}:${PORT}', env), {
    a: ['x', 'b', 'c'],
    b: { k: 'v' },
    c: 'h:80',
  })
  assert.equal(dataOf('a:\n  x: 1\n  ${LINES}\n  y: 2\n${LINES}\nb: 3\n', env), {
    a: { x: 1, l1: 1, l2: 2, y: 2 },
    l1: 1,
    l2: 2,
    b: 3,
  })
})

expansion('keeps every position in the file as written', () => {
  const text = [
    '# ${COMMENT}',
    'gateways: { ${NAME}: { port: ${PORT} } }',
    'routes: ${ROUTES}',
    'llm: ${LONG}',
    'nope: 1',
  ].join('\n')
  const env = {
    NAME: 'a-rather-long-name',
    PORT: 'x',
    ROUTES: '- name: a\n  nope: 1\n',
    LONG: '[\n]',
  }
  assert.equal(
    problemsOf(text, env).map((problem) => problem.replace(/, (expected one of|got|did).*/, '')),
    [
      'c.yaml:2:30: gateways.a-rather-long-name.port: got the value of ${PORT}, expected a number',
      'c.yaml:3:9: routes[0]["${ROUTES}"]: unknown field the value of ${ROUTES}',
      'c.yaml:4:6: llm: got a list, expected an object',
      "c.yaml:5:1: nope: unknown field 'nope'",
    ],
  )
  assert.equal(problemsOf('# \na: ${V}\nb: 1\n', { V: '\n\n}' }), [
    "c.yaml:2:4: invalid YAML: unexpected '}'",
  ])
})

expansion('reports unset variables also where they break the YAML', () => {
  assert.equal(problemsOf('a: 1\n${NOPE}\nb: &${NO} 2\n').slice(0, 1), [
    'c.yaml:2:1: environment variable not found: NOPE',
  ])
  assert.equal(problemsOf('b: &${NO} 2\n${KEY}: 1\n'), [
    'c.yaml:1:5: environment variable not found: NO',
    'c.yaml:2:1: environment variable not found: KEY',
  ])
})

expansion('refuses a value that YAML would cut at a comment', () => {
  const expected =
    "got a value with ' #', which starts a comment in YAML; write the variable in quotes"
  for (const value of ['a #b', '#a', 'a\t#'])
    assert.equal(problemsOf('a: [x, ${V}]', { V: value }), [`c.yaml:1:8: a[1]: ${expected}`])
  assert.equal(dataOf('a: "${V}"\nb: ${W}', { V: 'a #b', W: 'a#b' }), { a: 'a #b', b: 'a#b' })
})

expansion('expands an anchored value once for all its aliases', () => {
  assert.equal(dataOf('a: &x ${N}\nb: *x', { N: '$$' }), { a: '$$', b: '$$' })
})

expansion('reports every unset variable with its position', () => {
  assert.equal(problemsOf('gateways:\n  a: { port: ${PORT} }\nroutes: ["${A} ${B}"]\n'), [
    'c.yaml:2:14: gateways.a.port: environment variable not found: PORT',
    'c.yaml:3:10: routes[0]: environment variable not found: A',
    'c.yaml:3:10: routes[0]: environment variable not found: B',
  ])
})

expansion('does not read inherited object properties', () => {
  assert.equal(problemsOf('a: ${constructor}'), [
    'c.yaml:1:4: a: environment variable not found: constructor',
  ])
})

expansion('refuses a malformed reference', () => {
  const expected =
    'malformed variable reference, expected ${NAME} or ${NAME:-default}; write $$ for a plain $'
  for (const text of ['${}', '${1A}', '${A B}', '${A-x}', '${A'])
    assert.equal(problemsOf(`a: "${text}"`), [`c.yaml:1:4: a: ${expected}`], text)
})

expansion('keeps private-use characters of the text', () => {
  assert.equal(dataOf('a: "\ue000\ue024 ${N}"', { N: '\ue001' }), { a: '\ue000\ue024 \ue001' })
})

expansion('keeps a value in quotes and block scalars exactly, whatever it contains', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), (value) => {
      const text = 'a: "${V}"\nb: \'${V}\'\nc: ["${V}", x]\n"${V} key": 1\ne: |-\n  ${V}\nf: end'
      assert.equal(dataOf(text, { V: value }), {
        a: value,
        b: value,
        c: [value, 'x'],
        [`${value} key`]: 1,
        e: value,
        f: 'end',
      })
    }),
    {
      examples: [
        ['"'],
        ["'"],
        ['\n'],
        ['x\nf: y'],
        ['"\nz: 1'],
        [']'],
        ['}, q: {'],
        ['# c'],
        ['*x'],
      ],
    },
  )
})

const PIECES = [
  ...[
    'a',
    '# c',
    '"q"',
    "'",
    '"',
    '- ',
    ': ',
    ':',
    '? ',
    '[',
    ']',
    '{',
    '}',
    ',',
    '|',
    '>-',
    '&a ',
    '*a',
  ],
  ...[
    '!!str ',
    '---\n',
    '...\n',
    '%YAML 1.2\n',
    '\ufeff',
    '\t',
    ' ',
    '  ',
    '\n',
    '\r\n',
    '$',
    '\x1f',
    '\x02',
  ],
]

expansion('changes nothing but references, in any text', () => {
  const piece = fc.oneof(fc.constantFrom(...PIECES), fc.string({ unit: 'binary' }))
  fc.assert(
    fc.property(fc.array(piece), (pieces) => {
      const text = pieces.join('').replace(/\$[${]/g, '')
      const expanded = new ExpandedText(text, {})
      assert.is(expanded.text, text)
      assert.is(expanded.originalOffsetOf(text.length), text.length)
    }),
    { numRuns: 500 },
  )
})

expansion('masks references without changing the length of the text', () => {
  const text = 'a: ${A:-é} $${B} ${C}'
  const mask = new VariableMask(text)
  const masked = mask.mask(text)
  assert.is(masked.length, text.length)
  assert.not.match(masked, '${A')
  assert.match(masked, '$${B}')
  assert.is(mask.unmask(masked), text)
})

expansion('reports each failure to its caller', () => {
  const failures: string[] = []
  assert.is(
    expandVariables('${A}-${B}', { B: 'b' }, (message) => failures.push(message)),
    '${A}-b',
  )
  assert.equal(failures, ['environment variable not found: A'])
})

expansion.run()
