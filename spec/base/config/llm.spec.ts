import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { LlmConfig } from '../../../lib/base/config/llm-types.ts'
import { ungatedConfig, ungatedProblems } from '../../support/config.ts'

const llm = suite('llm')

function llmOf(fields: string): LlmConfig {
  const [backend] = ungatedConfig(`llm: { ${fields} }`).gateways[0]!.listeners[0]!.routes[0]!
    .backends
  assert.ok(backend?.kind === 'llm')
  return backend.llm
}

const problems = (fields: string) =>
  ungatedProblems(`llm: { ${fields} }`).map((line) => line.replace(/^llm\.(?!.* is required)/, ''))

llm('has a port of its own', () => {
  const { gateways } = ungatedConfig('llm: { models: [{ name: "*", provider: openAI }] }')
  assert.equal([gateways[0]!.name, gateways[0]!.port], ['llm', 4000])
  assert.is(gateways[0]!.listeners[0]!.routes[0]!.key, 'llm:default')
})

llm('shares no port with mcp', () => {
  const mcp = 'mcp: { port: 1, targets: [{ name: a, stdio: { cmd: x } }] }'
  assert.equal(
    ungatedProblems(`${mcp}\nllm: { port: 1, models: [{ name: "*", provider: mock }] }`),
    ['llm.port: port 1 is configured by both mcp and llm, expected a port of its own for each'],
  )
})

llm('orders models by how much of a name they spell', () => {
  const names = ['"*"', 'gpt-4*', 'gpt-4o', '"*-mini"'].map(
    (name) => `{ name: ${name}, provider: mock }`,
  )
  assert.equal(
    llmOf(`models: [${names.join(', ')}]`).models.map(({ name }) => name),
    ['gpt-4o', 'gpt-4*', '*-mini', '*'],
  )
})

llm('takes what a provider says, unless the model says otherwise', () => {
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

llm('refuses providers it cannot find or that miss something', () => {
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

llm('refuses names with a star in the middle, and names given twice', () => {
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

llm('takes virtual models over models that exist', () => {
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

llm.run()
