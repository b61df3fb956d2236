import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { configOf, problemsOf, ungatedConfig, ungatedProblems } from '../../support/config.ts'

const backends = suite('backends')

const GATEWAY = 'gateways: { default: { port: 1 } }\n'

function problems(entry: string, rest = ''): string[] {
  return ungatedProblems(`${GATEWAY}routes: [{ backends: [${entry}] }]\n${rest}`).map((line) =>
    line.replace('routes[0].backends[0]', '').replace(/^[:.] ?/, ''),
  )
}

backends('are of exactly one kind', () => {
  const kinds = "expected exactly one of 'host', 'mcp', 'ai', 'backend'"
  assert.equal(problems('{ weight: 1 }'), [`got none, ${kinds}`])
  const mcp = 'mcp: { targets: [{ name: a, stdio: { cmd: x } }] }'
  assert.equal(problems(`{ host: "a:1", ${mcp} }`), [
    `got host and mcp, two backend kinds in one entry, ${kinds}`,
  ])
  assert.equal(problems('{ service: { name: a/b, port: 1 } }'), ['service: is not supported'])
})

backends('of the top level are named by routes', () => {
  const named = 'backends: [{ name: app, host: "a:1" }]'
  const config = configOf(
    `${GATEWAY}${named}\nroutes: [{ backends: [{ backend: app, weight: 3 }] }]`,
  )
  const [backend] = config.gateways[0]!.listeners[0]!.routes[0]!.backends
  assert.ok(backend?.kind === 'host')
  assert.equal(backend.endpoint, { kind: 'tcp', host: 'a', port: 1 })
  assert.is(backend.weight, 3)
  assert.is(backend.key, 'gateway/default/default/route0/backend0')
})

backends('that nobody named are refused, with the nearest name', () => {
  const named = 'backends: [{ name: app, host: "a:1" }]'
  assert.equal(problems('{ backend: ap }', named), [
    "backend: unknown backend 'ap', did you mean 'app'?",
  ])
  assert.equal(problems('{ backend: other }'), ["backend: unknown backend 'other'"])
  assert.equal(
    problems('{ host: "a:1" }', 'backends: [{ name: a, host: "a:1" }, { name: a, host: "b:1" }]'),
    ["backends[1].name: got a second backend named 'a', expected names to differ"],
  )
  // One that was refused itself is not unknown as well.
  assert.equal(problems('{ backend: app }', 'backends: [{ name: app, host: a }]'), [
    "backends[0].host: got 'a', expected host:port, [ipv6]:port or unix:/path",
  ])
})

backends('reach LLM providers, one or in groups', () => {
  const aiOf = (ai: string) => {
    const config = ungatedConfig(`${GATEWAY}routes: [{ backends: [{ ai: ${ai} }] }]`)
    const [backend] = config.gateways[0]!.listeners[0]!.routes[0]!.backends
    assert.ok(backend?.kind === 'ai')
    return backend.ai.groups
  }
  const entry = '{ name: a, provider: { openAI: { model: m } }, hostOverride: "h:1" }'
  assert.equal(aiOf(entry), [
    [
      {
        name: 'a',
        provider: { kind: 'openAI', model: 'm' },
        endpoint: { kind: 'tcp', host: 'h', port: 1 },
        pathOverride: null,
        pathPrefix: null,
      },
    ],
  ])
  const second = '{ name: b, provider: { bedrock: { region: eu } } }'
  const groups = aiOf(
    `{ groups: [{ providers: [${entry}, ${second}] }, { providers: [${second}] }] }`,
  )
  assert.equal(
    groups.map((group) => group.map(({ name }) => name)),
    [['a', 'b'], ['b']],
  )
})

backends('refuse providers that cannot be reached', () => {
  const ai = (fields: string) => problems(`{ ai: { ${fields} } }`)
  assert.equal(ai('name: a, provider: { custom: { formats: [{ type: completions }] } }'), [
    'ai: custom providers require an explicit host override',
  ])
  assert.match(ai('name: a, provider: { openAi: {} }')[0]!, "did you mean 'openAI'?")
  assert.match(ai('name: a, provider: { vertex: {} }')[0]!, 'vertex: is not supported')
  assert.match(ai('name: a, provider: {}')[0]!, 'ai.provider: got none, expected exactly one of')
  assert.match(ai('provider: { mock: {} }')[0]!, 'ai.name is required')
  assert.equal(ai('name: a, provider: { azure: { resourceName: x, resourceType: open } }'), [
    "ai.provider.azure.resourceType: got 'open', expected one of 'openAI', 'foundry', 'aiServices'",
  ])
})

backends('that are not of a kind in force do not start', () => {
  const ai = '{ ai: { name: y, provider: { mock: {} } } }'
  assert.equal(problemsOf(`${GATEWAY}routes: [{ backends: [${ai}] }]`), [
    'c.yaml:2:25: routes[0].backends[0].ai: is checked but not enforced by this version: remove it',
  ])
})

backends.run()
