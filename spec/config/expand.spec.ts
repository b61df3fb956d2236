import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { expandVariables, parseSources, VariableMask } from '../../lib/config/yaml-source.ts'
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
  assert.equal(dataOf(text, { E: '', S: 'set' }), { a: 7, b: 'x: y', c: 'set', d: [null, 'a "b"'] })
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
  assert.equal(dataOf('a: "${A}"\nb: ${B}', { A: '${B}$$', B: '$${A}' }), {
    a: '${B}$$',
    b: '$${A}',
  })
})

expansion('does not expand keys and comments', () => {
  assert.equal(dataOf('# ${NOPE}\n${KEY}: 1 # ${NOPE}\n', {}), { '${KEY}': 1 })
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

expansion('never lets a value add YAML structure', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), (value) => {
      const text = 'a: "${V}"\nb: \'${V}\'\nc: [${V}, x]\nd: ${V}\ne: |-\n  ${V}\nf: end'
      const data = dataOf(text, { V: value }) as Record<string, unknown>
      assert.equal(Object.keys(data), ['a', 'b', 'c', 'd', 'e', 'f'])
      for (const name of ['a', 'b', 'e']) assert.is(data[name], value)
      const list = data['c'] as unknown[]
      assert.is(list.length, 2)
      // A plain scalar may become a number, a boolean or null, but never a list or an object.
      for (const plain of [list[0], data['d']])
        assert.ok(plain === value || plain === null || /number|boolean/.test(typeof plain))
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
