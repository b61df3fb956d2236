import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { expandVariables, parseSources, VariableMask } from '../../lib/config/yaml-source.ts'
import { problemsOf } from '../support/config.ts'
import { fc } from '../support/fast-check.ts'

const expansion = suite('expansion of variables')

function dataOf(text: string, env: Record<string, string> = {}): unknown {
  return parseSources(text, 'c.yaml', env)[0]!.data
}

expansion('types a plain scalar after it is expanded', () => {
  const env = { N: '3000', T: 'true', F: '1.5', S: 'text', E: '', H: '0x10' }
  const text = 'n: ${N}\nt: ${T}\nf: ${F}\ns: ${S}\ne: ${E}\nh: ${H}\nj: ${N}1'
  const expected = { n: 3000, t: true, f: 1.5, s: 'text', e: null, h: 16, j: 30001 }
  assert.equal(dataOf(text, env), expected)
})

expansion('leaves a quoted or block scalar a string', () => {
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

expansion('takes the default of an unset or empty variable only', () => {
  const text = 'a: ${U:-7}\nb: ${E:-x: y}\nc: ${S:-no}\nd: [${U:-}, "${U:-a \\"b\\"}"]'
  assert.equal(dataOf(text, { E: '', S: 'set' }), { a: 7, b: 'x: y', c: 'set', d: [null, 'a "b"'] })
})

expansion('writes $$ as $ and leaves a bare $ alone', () => {
  assert.equal(dataOf('a: $$\nb: $${N}\nc: $N\nd: ^/x$\ne: $$$${N}\nf: $$${N}', { N: '1' }), {
    a: '$',
    b: '${N}',
    c: '$N',
    d: '^/x$',
    e: '$${N}',
    f: '$1',
  })
})

expansion('never expands what came out of an expansion', () => {
  assert.equal(dataOf('a: "${A}"\nb: ${B}', { A: '${B}$$', B: '$${A}' }), {
    a: '${B}$$',
    b: '$${A}',
  })
})

expansion('leaves keys and comments as they are written', () => {
  assert.equal(dataOf('# ${NOPE}\n${KEY}: 1 # ${NOPE}\n', {}), { '${KEY}': 1 })
})

expansion('expands an anchored value once for all its aliases', () => {
  assert.equal(dataOf('a: &x ${N}\nb: *x', { N: '$$' }), { a: '$$', b: '$$' })
})

expansion('lists every unset variable with its place', () => {
  assert.equal(problemsOf('gateways:\n  a: { port: ${PORT} }\nroutes: ["${A} ${B}"]\n'), [
    'c.yaml:2:14: gateways.a.port: environment variable not found: PORT',
    'c.yaml:3:10: routes[0]: environment variable not found: A',
    'c.yaml:3:10: routes[0]: environment variable not found: B',
  ])
})

expansion('does not find what every object has', () => {
  assert.equal(problemsOf('a: ${constructor}'), [
    'c.yaml:1:4: a: environment variable not found: constructor',
  ])
})

expansion('refuses a reference it cannot read', () => {
  const expected =
    'malformed variable reference, expected ${NAME} or ${NAME:-default}; write $$ for a plain $'
  for (const text of ['${}', '${1A}', '${A B}', '${A-x}', '${A'])
    assert.equal(problemsOf(`a: "${text}"`), [`c.yaml:1:4: a: ${expected}`], text)
})

expansion('reads text that uses private letters of its own', () => {
  assert.equal(dataOf('a: "\ue000\ue024 ${N}"', { N: '\ue001' }), { a: '\ue000\ue024 \ue001' })
})

expansion('cannot be broken out of by any value', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), (value) => {
      const text = 'a: "${V}"\nb: \'${V}\'\nc: [${V}, x]\nd: ${V}\ne: |-\n  ${V}\nf: end'
      const data = dataOf(text, { V: value }) as Record<string, unknown>
      assert.equal(Object.keys(data), ['a', 'b', 'c', 'd', 'e', 'f'])
      for (const name of ['a', 'b', 'e']) assert.is(data[name], value)
      const list = data['c'] as unknown[]
      assert.is(list.length, 2)
      // A plain one may have become a number, a boolean or nothing, but never anything with parts.
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

expansion('keeps the length of a text it hides references in', () => {
  const text = 'a: ${A:-é} $${B} ${C}'
  const disguise = new VariableMask(text)
  const hidden = disguise.mask(text)
  assert.is(hidden.length, text.length)
  assert.not.match(hidden, '${A')
  assert.match(hidden, '$${B}')
  assert.is(disguise.unmask(hidden), text)
})

expansion('tells its caller about each failure', () => {
  const failures: string[] = []
  assert.is(
    expandVariables('${A}-${B}', { B: 'b' }, (message) => failures.push(message)),
    '${A}-b',
  )
  assert.equal(failures, ['environment variable not found: A'])
})

expansion.run()
