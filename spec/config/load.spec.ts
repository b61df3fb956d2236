import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inspect } from 'node:util'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { ConfigError } from '../../lib/config/config-error.ts'
import { loadConfig } from '../../lib/config/load.ts'
import { Secret } from '../../lib/text/secret.ts'
import { configOf, firstListener, problemsOf } from '../support/config.ts'

const load = suite('loading a configuration')

load('reads a file with the given environment', () => {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-config-'))
  const file = join(folder, 'my.yaml')
  writeFileSync(file, 'gateways: { a: { port: ${P} } }')
  const config = loadConfig([file], { P: '81' })
  rmSync(folder, { recursive: true })
  assert.is(config.gateways[0]!.port, 81)
  assert.is(config.file, file)
})

load('refuses a file that is not there', () => {
  try {
    loadConfig(['/no/such.yaml'])
    assert.unreachable()
  } catch (error) {
    assert.instance(error, ConfigError)
    const { message, problems } = error as ConfigError
    assert.is(message, '/no/such.yaml: cannot read the configuration file: no such file')
    assert.is(problems[0]!.line, 0)
  }
})

load('refuses what is no object at all', () => {
  const nothing = 'c.yaml:1:1: got no configuration, expected at least gateways, mcp or llm'
  assert.equal(problemsOf(''), [nothing])
  assert.equal(problemsOf('# nothing\n---\n'), [nothing])
  assert.equal(problemsOf('hello'), ['c.yaml:1:1: got a string, expected an object'])
  assert.equal(problemsOf('- a'), ['c.yaml:1:1: got a list, expected an object'])
})

load('tells all problems at once, in the order of the file', () => {
  const text = `config:
  adminAdr: off
gateways:
  a:
    prot: 80
  b:
    port: "80"
routes:
  - gateways: c
    backends:
      - hots: x:1
  - gateways: d
    backends: [{ host: "x:1" }]
  - gateways: a
    backends: [{ host: "x:1" }]
`
  assert.equal(problemsOf(text), [
    "c.yaml:2:3: config.adminAdr: unknown field 'adminAdr', did you mean 'adminAddr'?",
    'c.yaml:5:5: gateways.a.port is required',
    "c.yaml:5:5: gateways.a.prot: unknown field 'prot', did you mean 'port'?",
    'c.yaml:7:11: gateways.b.port: got a string, expected a number',
    "c.yaml:11:9: routes[0].backends[0].hots: unknown field 'hots', did you mean 'host'?",
    'c.yaml:12:15: routes[1].gateways: unknown gateway reference d',
  ])
})

load('refuses unknown fields wherever they are', () => {
  const route = 'routes: [{ backends: [{ host: "a:1", QQ: 1 }], matches: [{ QQ: 1 }], QQ: 1 }]'
  const paths = [
    'QQ: 1',
    'config: { QQ: 1, logging: { QQ: 1 }, backend: { QQ: 1 } }',
    'frontendPolicies: { QQ: 1, http: { QQ: 1 }, tls: { QQ: 1 } }',
    'gateways: { default: { port: 1, QQ: 1, listeners: [{ QQ: 1 }] } }',
    route,
  ].join('\n')
  const found = problemsOf(paths)
  assert.is(found.length, 12)
  for (const line of found) assert.match(line, "unknown field 'QQ', expected ")
})

load('names the type of a wrong value, not the value', () => {
  const wrong = (value: string) =>
    problemsOf(`gateways: { a: { port: ${value} } }`)[0]!.replace(/^.*port: /, '')
  assert.is(wrong('secret'), 'got a string, expected a number')
  assert.is(wrong('1.5'), 'got a fraction, expected a whole number')
  assert.is(wrong('[1]'), 'got a list, expected a number')
  assert.is(wrong('{ a: 1 }'), 'got an object, expected a number')
  assert.is(wrong('true'), 'got true, expected a number')
  assert.is(wrong(''), 'got nothing, expected a number')
})

load('freezes what it returns, all the way down', () => {
  const config = configOf(
    'gateways: { default: { port: 1 } }\nroutes: [{ backends: [{ host: "a:1" }] }]',
  )
  const parts: unknown[] = [config, config.process, config.gateways, config.gateways[0]]
  parts.push(firstListener(config).routes, firstListener(config).routes[0]!.backends[0])
  for (const part of parts) assert.ok(Object.isFrozen(part))
})

load('keeps secrets out of everything that prints', () => {
  const secret = new Secret('hush')
  for (const shown of [String(secret), JSON.stringify({ secret }), inspect({ secret })])
    assert.not.match(shown, 'hush')
  assert.match(inspect({ secret }), '<redacted>')
  assert.is(secret.reveal(), 'hush')
})

load.run()
