import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { LlmConfig } from '../../lib/config/backend-types.ts'
import { configOf, problemsOf } from '../support/config.ts'

const llm = suite('llm')

function llmOf(fields: string): LlmConfig {
  const [backend] = configOf(`llm: { ${fields} }`).gateways[0]!.listeners[0]!.routes[0]!.backends
  assert.ok(backend?.kind === 'llm')
  return backend.llm
}

const problems = (fields: string) =>
  problemsOf(`llm: { ${fields} }`).map((line) =>
    line.replace(/^c\.yaml:\d+:\d+: /, '').replace(/^llm\.(?!.* is required)/, ''),
  )

llm('has its own port', () => {
  const { gateways } = configOf('llm: { models: [{ name: "*", provider: openAI }] }')
  assert.equal([gateways[0]!.name, gateways[0]!.port], ['llm', 4000])
  assert.is(gateways[0]!.listeners[0]!.routes[0]!.key, 'llm:default')
})

llm('explains the object form of a provider that is only a name', () => {
  const text = 'routes: [{ backends: [{ ai: { name: p, provider: openAI } }] }]'
  assert.equal(problemsOf(text), [
    'c.yaml:1:50: routes[0].backends[0].ai.provider: got a string, expected an object: { openAI: {} }',
  ])
})

llm('refuses the port of mcp', () => {
  const mcp = 'mcp: { port: 1, targets: [{ name: a, stdio: { cmd: x } }] }'
  assert.equal(problemsOf(`${mcp}\nllm: { port: 1, models: [{ name: "*", provider: mock }] }`), [
    'c.yaml:2:14: llm.port: port 1 is configured by both mcp and llm, expected a port of its own for each',
  ])
})

llm('orders models by the number of literal characters', () => {
  const names = ['"*"', 'gpt-4*', 'gpt-4o', '"*-mini"'].map(
    (name) => `{ name: ${name}, provider: mock }`,
  )
  assert.equal(
    llmOf(`models: [${names.join(', ')}]`).models.map(({ name }) => name),
    ['gpt-4o', 'gpt-4*', '*-mini', '*'],
  )
})

llm('merges params of a provider with those of a model, which take precedence', () => {
  const { models } = llmOf(
    `providers: [{ name: p, provider: openai, params: { apiKey: hush, baseUrl: "https://h/x", model: a } }],
     models: [{ name: m, provider: { reference: p }, params: { model: b } }]`.replace(/\n\s+/, ' '),
  )
  const [{ entry }] = models as [(typeof models)[0]]
  const { auth, tls, ...rest } = entry
  assert.equal(rest, {
    name: 'p',
    provider: { kind: 'openAI', model: 'b' },
    endpoint: { kind: 'tcp', host: 'h', port: 443 },
    pathOverride: null,
    pathPrefix: '/x',
  })
  assert.is(auth!.kind === 'header' && auth!.key.reveal(), 'hush')
  assert.ok(tls !== null)
  assert.not.match(JSON.stringify(models), 'hush')
})

llm('refuses unknown providers and missing provider fields', () => {
  const p = 'providers: [{ name: main, provider: mock }], '
  assert.equal(problems(`${p}models: [{ name: a, provider: { reference: mian } }]`), [
    "models[0].provider.reference: unknown provider 'mian', did you mean 'main'?",
  ])
  assert.equal(
    problems('models: [{ name: a, provider: azure }]'),
    [
      'models[0].params: azureResourceType is required for provider azure',
      'models[0].params: azureResourceName is required for provider azure',
    ].map((line) => `llm.${line}`),
  )
  assert.match(
    problems('models: [{ name: a, provider: opnai }]')[0]!,
    'expected one of openAI, openai',
  )
  assert.equal(
    problems('models: [{ name: a, provider: { custom: { formats: [{ type: messages }] } } }]'),
    ['models[0].params: got a custom provider without a host, expected baseUrl or hostOverride'],
  )
})

llm('refuses names with a star in the middle, and duplicate names', () => {
  for (const name of ['a*b', '**', 'a b', ''])
    assert.match(
      problems(`models: [{ name: "${name}", provider: mock }]`)[0]!,
      `got '${name}', exp`,
    )
  assert.equal(problems('models: [{ name: a, provider: mock }, { name: a, provider: mock }]'), [
    "models[1].name: got 'a' a second time, expected names to differ",
  ])
  assert.equal(problems('models: []'), ['models: got an empty list, expected at least one entry'])
})

llm('accepts virtual models with targets that exist', () => {
  const models = 'models: [{ name: a, provider: mock }, { name: b, provider: mock }]'
  const virtual = (routing: string) =>
    `${models}, virtualModels: [{ name: v, routing: ${routing} }]`
  const weighted = '{ weighted: { targets: [{ model: a, weight: 3 }, { model: b }] } }'
  assert.equal(llmOf(virtual(weighted)).virtualModels, [
    {
      name: 'v',
      routing: {
        kind: 'weighted',
        targets: [
          { model: 'a', weight: 3 },
          { model: 'b', weight: 1 },
        ],
      },
    },
  ])
  assert.equal(problems(virtual('{ failover: { targets: [{ model: aa }] } }')), [
    "virtualModels[0].routing.failover.targets[0].model: unknown model 'aa', did you mean 'a'?",
  ])
  const condition = `{ conditional: { targets: [{ model: a, when: 'jwt.sub == "x"' }, { model: b }] } }`
  assert.equal(problems(virtual(condition)), [])
})

llm('refuses a pattern without a model as the target of a virtual model', () => {
  const text = `llm:
  models:
  - { name: small, provider: mock }
  - { name: claude-*, provider: mock }
  virtualModels:
  - name: cheap
    routing:
      weighted:
        targets: [{ model: small }, { model: claude-* }]
`
  assert.equal(problemsOf(text), [
    "c.yaml:9:46: llm.virtualModels[0].routing.weighted.targets[1].model: got the pattern 'claude-*', " +
      'expected one model: add the model to models, or set params.model of the pattern',
  ])
  // With params.model of the entry or of its provider, the model for the provider is known.
  const named = '{ name: claude-*, provider: mock, params: { model: claude-x } }'
  assert.equal(problemsOf(text.replace('{ name: claude-*, provider: mock }', named)), [])
  const referred = '{ name: claude-*, provider: { reference: p } }'
  assert.equal(
    problemsOf(
      text
        .replace('{ name: claude-*, provider: mock }', referred)
        .replace(
          '  models:',
          '  providers: [{ name: p, provider: mock, params: { model: m } }]\n  models:',
        ),
    ),
    [],
  )
})

llm('refuses the model in defaults and overrides', () => {
  const model = (fields: string) => problems(`models: [{ name: a, provider: mock, ${fields} }]`)
  assert.equal(model('defaults: { stream: true }, overrides: { messages: [], max_tokens: 5 }'), [])
  const problem = 'got a model, expected none: use params.model'
  assert.equal(model('defaults: { model: x }, overrides: { model: x }'), [
    `models[0].defaults.model: ${problem}`,
    `models[0].overrides.model: ${problem}`,
  ])
})

llm('refuses modelAliases', () => {
  const models = 'models: [{ name: a, provider: mock }]'
  assert.equal(problems(`${models}, policies: { ai: { overrides: { user: u } } }`), [])
  assert.equal(problems(`${models}, policies: { ai: { modelAliases: { b: a } } }`), [
    'policies.ai.modelAliases: got modelAliases, expected none: clients use the names of models and virtualModels',
  ])
})

llm('refuses keys with line breaks and URLs with user name or query, without printing them', () => {
  const params = (text: string) =>
    problems(`models: [{ name: a, provider: mock, params: { ${text} } }]`)
  assert.equal(params('apiKey: "a\\nb"'), [
    'models[0].params.apiKey: got control characters, expected one line',
  ])
  assert.equal(params('baseUrl: "https://u:hush@h/v1"'), [
    'models[0].params.baseUrl: got a URL with a user name, expected none: dumps and logs show the URL',
  ])
  for (const url of ['https://h/v1?key=hush', 'https://h/v1#hush'])
    assert.equal(params(`baseUrl: "${url}"`), [
      'models[0].params.baseUrl: got a URL with a query, expected none: each request has its own query',
    ])
})

llm('refuses params that are not supported', () => {
  const params = (text: string) =>
    problems(`models: [{ name: a, provider: mock, params: { ${text} } }]`)
  for (const name of ['tokenize', 'azureProjectName', 'vertexRegion'])
    assert.equal(params(`${name}: x`), [`models[0].params.${name}: is not supported`])
})

llm('reads the certificates of a model, whose backendTLS overrides the URL', () => {
  const model = (rest: string) =>
    llmOf(`models: [{ name: a, provider: mock, params: { baseUrl: "https://h" }, ${rest} }]`)
  assert.is(model('visibility: public').models[0]!.entry.tls!.hostname, null)
  assert.is(model('backendTLS: { hostname: other }').models[0]!.entry.tls!.hostname, 'other')
  assert.equal(
    problems('models: [{ name: a, provider: mock, backendTLS: { root: absent.pem } }]'),
    ["models[0].backendTLS.root: cannot read 'absent.pem': no such file, expected a PEM file"],
  )
})

llm.run()
