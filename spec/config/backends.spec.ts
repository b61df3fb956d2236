import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { AiEntry } from '../../lib/config/backend-types.ts'
import { configOf, problemsOf } from '../support/config.ts'

const backends = suite('backends')

const GATEWAY = 'gateways: { default: { port: 1 } }\n'

function problems(entry: string, rest = ''): string[] {
  return problemsOf(`${GATEWAY}routes: [{ backends: [${entry}] }]\n${rest}`).map((line) =>
    line
      .replace(/^c\.yaml:\d+:\d+: /, '')
      .replace('routes[0].backends[0]', '')
      .replace(/^[:.] ?/, ''),
  )
}

/** The groups of an `ai` backend. */
function groupsOf(ai: string): readonly (readonly AiEntry[])[] {
  const config = configOf(`${GATEWAY}routes: [{ backends: [{ ai: ${ai} }] }]`)
  const [backend] = config.gateways[0]!.listeners[0]!.routes[0]!.backends
  assert.ok(backend?.kind === 'ai')
  return backend.ai.groups
}

backends('have exactly one kind', () => {
  const kinds = "expected exactly one of 'host', 'mcp', 'ai', 'backend'"
  assert.equal(problems('{ weight: 1 }'), [`got none, ${kinds}`])
  const mcp = 'mcp: { targets: [{ name: a, stdio: { cmd: x } }] }'
  assert.equal(problems(`{ host: "a:1", ${mcp} }`), [
    `got host and mcp, two backend kinds in one entry, ${kinds}`,
  ])
  assert.equal(problems('{ service: { name: a/b, port: 1 } }'), ['service: is not supported'])
})

backends('of the top level can be referenced by routes', () => {
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

backends('can have an HTTP version, if they are hosts', () => {
  for (const [text, version] of [
    ['2', '2'],
    ["'2'", '2'],
    ['HTTP/2.0', '2'],
    ['1.1', '1.1'],
    ['HTTP/1.1', '1.1'],
  ]) {
    const entry = `{ host: "a:1", policies: { http: { version: ${text} } } }`
    const config = configOf(`${GATEWAY}routes: [{ backends: [${entry}] }]`)
    const [backend] = config.gateways[0]!.listeners[0]!.routes[0]!.backends
    assert.is(backend?.policies.http?.version, version)
  }
  const http = 'policies: { http: { version: 2 } }'
  assert.match(
    problems('{ host: "a:1", policies: { http: { version: 3 } } }')[0]!,
    /^policies\.http\.version: got 3/,
  )
  const only = 'policies.http: got http, expected it only with host'
  assert.equal(problems(`{ ai: { name: a, provider: { openAI: {} } }, ${http} }`), [only])
  const named = 'backends: [{ name: app, ai: { name: a, provider: { openAI: {} } } }]'
  assert.equal(problems(`{ backend: app, ${http} }`, named), [only])
})

backends('that are unknown are refused with the nearest name', () => {
  const named = 'backends: [{ name: app, host: "a:1" }]'
  assert.equal(problems('{ backend: ap }', named), [
    "backend: unknown backend 'ap', did you mean 'app'?",
  ])
  assert.equal(problems('{ backend: other }'), ["backend: unknown backend 'other'"])
  assert.equal(
    problems('{ host: "a:1" }', 'backends: [{ name: a, host: "a:1" }, { name: a, host: "b:1" }]'),
    ["backends[1].name: got a second backend named 'a', expected names to differ"],
  )
  // A reference to an invalid backend is not reported as unknown.
  assert.equal(problems('{ backend: app }', 'backends: [{ name: app, host: a }]'), [
    "backends[0].host: got 'a', expected host:port, [ipv6]:port or unix:/path",
  ])
})

backends('accept one LLM provider or groups of providers', () => {
  const entry = '{ name: a, provider: { openAI: { model: m } }, hostOverride: "h:1" }'
  assert.equal(groupsOf(entry), [
    [
      {
        name: 'a',
        provider: { kind: 'openAI', model: 'm' },
        endpoint: { kind: 'tcp', host: 'h', port: 1 },
        pathOverride: null,
        pathPrefix: null,
        auth: null,
        tls: null,
      },
    ],
  ])
  const second = '{ name: b, provider: { bedrock: { region: eu } } }'
  const groups = groupsOf(
    `{ groups: [{ providers: [${entry}, ${second}] }, { providers: [${second}] }] }`,
  )
  assert.equal(
    groups.map((group) => group.map(({ name }) => name)),
    [['a', 'b'], ['b']],
  )
})

backends('refuse invalid LLM providers', () => {
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

backends('accept a key and TLS for each LLM provider', () => {
  const first = '{ name: a, provider: { openAI: {} }, policies: { backendAuth: { key: hush } } }'
  const header = '{ value: shh, location: { header: { name: X-Key, prefix: "k " } } }'
  const second = `{ name: b, provider: { anthropic: {} }, hostOverride: "h:1",
    policies: { backendAuth: { key: ${header} }, backendTLS: { hostname: h, alpn: [h2] } } }`
  const third =
    '{ name: c, provider: { gemini: {} }, policies: { backendAuth: { passthrough: {} } } }'
  const groups = groupsOf(
    `{ groups: [{ providers: [${first}, ${second}] }, { providers: [${third}] }] }`,
  )
  const [[one, two], [three]] = groups as [[AiEntry, AiEntry], [AiEntry]]
  assert.equal(authFieldsOf(one), ['header', 'hush', 'authorization', 'Bearer '])
  assert.is(one.tls, null)
  assert.equal(authFieldsOf(two), ['header', 'shh', 'x-key', 'k '])
  assert.equal([two.tls!.hostname, two.tls!.alpn], ['h', ['h2']])
  assert.equal(three.auth, { kind: 'passthrough' })
  assert.not.match(JSON.stringify(groups), /hush|shh/)
})

function authFieldsOf({ auth }: AiEntry): unknown[] {
  assert.ok(auth?.kind === 'header')
  return [auth.kind, auth.key.reveal(), auth.name, auth.prefix]
}

backends('report the position of invalid policies of an LLM provider', () => {
  const provider = (policies: string) =>
    `{ name: a, provider: { mock: {} }, policies: { ${policies} } }`
  const alone = (policies: string) => problems(`{ ai: ${provider(policies)} }`)
  assert.equal(alone('backendTLS: { root: absent.pem }'), [
    "ai.policies.backendTLS.root: cannot read 'absent.pem': no such file, expected a PEM file",
  ])
  assert.match(
    alone('backendAuth: {}')[0]!,
    /^ai\.policies\.backendAuth: got none, expected exactly/,
  )
  assert.match(
    alone('cors: {}')[0]!,
    "unknown field 'cors', expected one of 'backendAuth', 'backendTLS'",
  )
  const text = `${GATEWAY}routes:
- backends:
  - ai:
      groups:
      - providers: [${provider('backendAuth: { key: k }')}]
      - providers:
        - name: b
          provider: { mock: {} }
          policies:
            backendTLS: { key: k.pem }
`
  assert.equal(problemsOf(text), [
    'c.yaml:11:25: routes[0].backends[0].ai.groups[1].providers[0].policies.backendTLS: ' +
      'got only one of cert and key, expected both or neither',
  ])
})

backends('refuse fields of LLM providers that are not supported', () => {
  const ai = (fields: string) => problems(`{ ai: { name: a, provider: { mock: {} }, ${fields} } }`)
  assert.equal(ai('tokenize: true'), ['ai.tokenize: is not supported'])
  assert.equal(
    problems(
      '{ ai: { name: a, provider: { azure: { resourceName: x, resourceType: foundry, projectName: p } } } }',
    ),
    ['ai.provider.azure.projectName: is not supported'],
  )
})

backends('have an ai policy that injects usage by default', () => {
  const policy = (fields: string) => {
    const backend = `{ ai: { name: a, provider: { mock: {} } }, policies: { ai: { ${fields} } } }`
    return configOf(`${GATEWAY}routes: [{ backends: [${backend}] }]`).gateways[0]!.listeners[0]!
      .routes[0]!.backends[0]!.policies.ai
  }
  assert.equal(policy(''), {
    modelAliases: {},
    routes: {},
    defaults: {},
    overrides: {},
    usage: 'inject',
  })
  for (const usage of ['limited', 'passthrough']) assert.is(policy(`usage: ${usage}`)!.usage, usage)
  assert.equal(
    problems('{ ai: { name: a, provider: { mock: {} } }, policies: { ai: { usage: injected } } }'),
    [
      "policies.ai.usage: got 'injected', expected one of 'inject', 'limited', 'passthrough', did you mean 'inject'?",
    ],
  )
})

backends('refuse the model in defaults and overrides of the ai policy', () => {
  const policy = (fields: string) =>
    problems(`{ ai: { name: a, provider: { mock: {} } }, policies: { ai: { ${fields} } } }`)
  assert.equal(policy('defaults: { stream: true }, overrides: { messages: [], models: 1 }'), [])
  const use = "use the provider's model, params.model or modelAliases"
  assert.equal(policy('defaults: { model: m, a: 1 }, overrides: { Model: m }'), [
    `policies.ai.defaults.model: got a model, expected none: ${use}`,
    `policies.ai.overrides.Model: got a model, expected none: ${use}`,
  ])
})

backends('without an LLM provider refuse ai fields that change requests', () => {
  const policies =
    'ai: { modelAliases: { a: b }, defaults: { a: 1 }, overrides: { a: 1 }, usage: inject }'
  const reason = 'expected an ai backend: bodies for other backends are not changed'
  const fields = ['modelAliases', 'defaults', 'overrides']
  assert.equal(
    problems(`{ host: "a:1", policies: { ${policies} } }`),
    fields.map((name) => `policies.ai.${name}: got ${name}, ${reason}`),
  )
  const route = (backends: string) =>
    problemsOf(`${GATEWAY}routes:\n- policies: { ${policies} }\n  backends: [${backends}]\n`)
  assert.equal(
    route('{ host: "a:1" }'),
    [21, 45, 65].map((column, at) => {
      const name = fields[at]!
      return `c.yaml:3:${column}: routes[0].policies.ai.${name}: got ${name}, ${reason}`
    }),
  )
  assert.equal(route('{ host: "a:1" }, { ai: { name: a, provider: { mock: {} } } }'), [])
  // Formats by path are allowed, because responses of a host backend may have tokens too.
  assert.equal(problems('{ host: "a:1", policies: { ai: { routes: { /x: messages } } } }'), [])
})

backends.run()
