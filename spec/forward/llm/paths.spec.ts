// The path of a request at a provider: from the client's path, the provider's paths and the configuration.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { AiEntry, AiProvider } from '../../../lib/config/backend-types.ts'
import { FormatTable } from '../../../lib/forward/llm/llm-formats.ts'
import { providerEndpointOf, buildProviderTarget } from '../../../lib/forward/llm/provider.ts'
import { Stage } from '../../support/gateway.ts'
import { answers, chatOf, LlmBackend } from '../../support/llm-backend.ts'
import { aiRoute, chatAsking, post } from '../../support/llm/asking.ts'

const paths = suite('paths of providers')
const stage = new Stage()
paths.after.each(() => stage.clear())

function target(provider: AiProvider, requested: string, more: Partial<AiEntry> = {}): string {
  const [path = '', query = ''] = requested.split('?')
  const entry: AiEntry = {
    name: 'p',
    provider,
    endpoint: null,
    pathOverride: null,
    pathPrefix: null,
    auth: null,
    tls: null,
    ...more,
  }
  return buildProviderTarget(entry, {
    format: new FormatTable().formatOf(path),
    model: 'm/1',
    path,
    query,
  })
}

const OPENAI: AiProvider = { kind: 'openAI', model: null }
const ANTHROPIC: AiProvider = { kind: 'anthropic', model: null }
const GEMINI: AiProvider = { kind: 'gemini', model: null }
const azure = (apiVersion: string | null): AiProvider => ({
  kind: 'azure',
  resourceName: 'r',
  resourceType: 'openAI',
  apiVersion,
  model: null,
})

paths('are those of each provider for a format, whatever the prefix', () => {
  const table: [provider: AiProvider, requested: string, expected: string][] = [
    [OPENAI, '/v1/chat/completions', '/v1/chat/completions'],
    [OPENAI, '/ai/chat/completions?x=1', '/v1/chat/completions?x=1'],
    [OPENAI, '/v1/completions', '/v1/completions'],
    [OPENAI, '/v1/responses', '/v1/responses'],
    [OPENAI, '/v1/responses/resp_1', '/v1/responses/resp_1'],
    [OPENAI, '/v1/embeddings', '/v1/embeddings'],
    [OPENAI, '/v1/models', '/v1/models'],
    [ANTHROPIC, '/v1/messages?beta=true', '/v1/messages?beta=true'],
    [ANTHROPIC, '/v1/messages/count_tokens', '/v1/messages/count_tokens'],
    [GEMINI, '/v1/chat/completions', '/v1beta/openai/chat/completions'],
    [GEMINI, '/v1beta/models/g:generateContent', '/v1beta/models/g:generateContent'],
    [azure(null), '/v1/chat/completions', '/openai/v1/chat/completions'],
    [azure('v1'), '/v1/responses', '/openai/v1/responses'],
    [
      azure('2024-10-21'),
      '/v1/chat/completions?a=b',
      '/openai/deployments/m%2F1/chat/completions?a=b&api-version=2024-10-21',
    ],
    [
      { kind: 'bedrock', region: 'r', model: null },
      '/v1/chat/completions',
      '/openai/v1/chat/completions',
    ],
  ]
  for (const [provider, requested, expected] of table)
    assert.is(target(provider, requested), expected)
})

paths('follow the configuration', () => {
  const path = '/v1/chat/completions?x=1'
  assert.is(target(OPENAI, path, { pathOverride: '/all' }), '/all?x=1')
  assert.is(target(OPENAI, path, { pathPrefix: '/api' }), '/api/chat/completions?x=1')
  const endpoint = { kind: 'tcp', host: 'h', port: 1 } as const
  assert.is(target(OPENAI, '/any/chat/completions', { endpoint }), '/any/chat/completions')
  const custom: AiProvider = {
    kind: 'custom',
    formats: [
      { type: 'completions', path: '/c' },
      { type: 'messages', path: null },
    ],
    model: null,
  }
  assert.is(target(custom, path, { endpoint }), '/c?x=1')
  assert.is(target(custom, '/v1/messages', { endpoint }), '/v1/messages')
  assert.throws(
    () => target(custom, '/v1/embeddings', { endpoint }),
    /provider 'p' does not support 'embeddings'/,
  )
})

paths('lead to hosts of the providers', () => {
  const hosts = [OPENAI, ANTHROPIC, GEMINI, azure(null), { kind: 'mock', model: null } as const]
  assert.equal(
    hosts.map((provider) => {
      const where = providerEndpointOf(provider)
      return where?.kind === 'tcp' ? `${where.host}:${where.port}` : null
    }),
    [
      'api.openai.com:443',
      'api.anthropic.com:443',
      'generativelanguage.googleapis.com:443',
      'r.openai.azure.com:443',
      null,
    ],
  )
})

paths(
  'through a gateway: a host alone keeps them, a prefix and a base URL change them',
  async () => {
    const backend = stage.add(await LlmBackend.start(answers.json(chatOf(1, 1))))
    const path = '/team/v1/chat/completions?a=1'
    const p = 'name: p, provider: { openAI: {} }'
    for (const entry of [p, `${p}, pathPrefix: /api/v3`, `${p}, pathOverride: /one`]) {
      const gateway = await stage.gateway(aiRoute(backend, { entry }))
      assert.is((await post(gateway, chatAsking(), { path })).status, 200)
    }
    const llm = await stage.gateway(
      `gateways: { default: { port: \${PORT}, address: 127.0.0.1 } }\n` +
        `llm: { gateways: [default], models: [{ name: "*", provider: openAI, params: { baseUrl: "http://127.0.0.1:${backend.port}/deep/v1" } }] }`,
    )
    await post(llm, chatAsking(), { path: '/v1/chat/completions' })
    assert.equal(
      backend.requests.map((request) => request.target),
      [path, '/api/v3/chat/completions?a=1', '/one?a=1', '/deep/v1/chat/completions'],
    )
  },
)

paths.run()
