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

load('refuses a missing file', () => {
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

load('refuses a document that is not an object', () => {
  const empty = 'c.yaml:1:1: got no configuration, expected at least gateways, mcp or llm'
  assert.equal(problemsOf(''), [empty])
  assert.equal(problemsOf('# nothing\n---\n'), [empty])
  assert.equal(problemsOf('hello'), ['c.yaml:1:1: got a string, expected an object'])
  assert.equal(problemsOf('- a'), ['c.yaml:1:1: got a list, expected an object'])
})

load('reports all problems at once, in the order of the file', () => {
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
    'c.yaml:12:15: routes[1].gateways: unknown gateway reference d, expected one of a, b',
  ])
})

load('refuses unknown fields at every level', () => {
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
  const problemOf = (value: string) =>
    problemsOf(`gateways: { a: { port: ${value} } }`)[0]!.replace(/^.*port: /, '')
  assert.is(problemOf('secret'), 'got a string, expected a number')
  assert.is(problemOf('1.5'), 'got a fraction, expected a whole number')
  assert.is(problemOf('[1]'), 'got a list, expected a number')
  assert.is(problemOf('{ a: 1 }'), 'got an object, expected a number')
  assert.is(problemOf('true'), 'got true, expected a number')
  assert.is(problemOf(''), 'got nothing, expected a number')
})

load('freezes the configuration deeply', () => {
  const config = configOf(
    'gateways: { default: { port: 1 } }\nroutes: [{ backends: [{ host: "a:1" }] }]',
  )
  const parts: unknown[] = [config, config.process, config.gateways, config.gateways[0]]
  parts.push(firstListener(config).routes, firstListener(config).routes[0]!.backends[0])
  for (const part of parts) assert.ok(Object.isFrozen(part))
})

load('redacts secrets in text, JSON and inspect', () => {
  const secret = new Secret('hush')
  for (const shown of [String(secret), JSON.stringify({ secret }), inspect({ secret })])
    assert.not.match(shown, 'hush')
  assert.match(inspect({ secret }), '<redacted>')
  assert.is(secret.reveal(), 'hush')
})

load.run()
