// What users write under `llm`: models by name, and the providers behind them.

import { z } from 'zod'
import { AZURE_TYPES, bodyFields, CUSTOM, modelName, WHERE } from './ai.ts'
import { AUTHORIZATION } from './auth.ts'
import { expression } from './expression.ts'
import { REQUEST_HEADERS, RESPONSE_HEADERS } from './headers.ts'
import { choice, gatewayNames, httpUrl, orNull, text, unsupported, union } from './parts.ts'
import { POLICIES } from './policies.ts'
import { listenPort, partOfKey } from './scalars.ts'
import { BACKEND_TLS, key } from './traffic.ts'

const PROVIDER_NAMES = [
  'openAI',
  'openai',
  'anthropic',
  'gemini',
  'azure',
  'bedrock',
  'mock',
] as const

const baseUrl = httpUrl.refine((value) => !/[?#]/.test(value), {
  error: 'got a URL with a query, expected none: each call has its own',
})

const params = z
  .strictObject({
    model: orNull(modelName),
    apiKey: orNull(key).describe('Key for the provider'),
    baseUrl: orNull(baseUrl).describe("URL instead of the provider's own"),
    awsRegion: orNull(text).describe('Needed by `bedrock`'),
    azureResourceName: orNull(text).describe('Needed by `azure`'),
    azureResourceType: orNull(z.enum(AZURE_TYPES)).describe('Needed by `azure`'),
    azureApiVersion: orNull(text).describe('For `azure`'),
    ...WHERE,
    ...unsupported('azureProjectName', 'vertexRegion', 'vertexProject'),
  })
  .meta({ id: 'LlmParams', description: 'How the provider is reached' })

export type ParamsShape = z.output<typeof params>

const custom = choice({ custom: CUSTOM })

const namedProvider = union(
  [z.enum(PROVIDER_NAMES), custom],
  `expected one of ${PROVIDER_NAMES.join(', ')}, or an object with custom`,
)

const PROVIDER = z.strictObject({
  name: text.describe('What models refer to'),
  provider: namedProvider.describe('Kind of the provider'),
  params: params.optional(),
})

const modelFields = bodyFields('params.model')

/** A star at the begin or at the end stands for anything. */
const modelPattern = z
  .string()
  .regex(/^(?:\*[^*\s]*|[^*\s]+\*?)$/, {
    error: ({ input }) =>
      `got '${String(input)}', expected a model name with at most one *, at an end`,
  })
  .describe('Model clients ask for; may begin or end with `*`')

const model = z.strictObject({
  name: modelPattern,
  visibility: z
    .enum(['public', 'internal'])
    .default('public')
    .describe('`internal`: only for virtual models'),
  provider: union(
    [z.enum(PROVIDER_NAMES), choice({ reference: text, custom: CUSTOM })],
    `expected one of ${PROVIDER_NAMES.join(', ')}, or an object with one of 'reference', 'custom'`,
  ).describe('A kind, `{reference: name}` of `providers`, or `{custom}`'),
  params: params.optional(),
  authorization: AUTHORIZATION.optional(),
  defaults: modelFields.describe('Body fields to set where they are missing'),
  overrides: modelFields.describe('Body fields to set always'),
  requestHeaders: REQUEST_HEADERS.optional(),
  responseHeaders: RESPONSE_HEADERS.optional(),
  backendTLS: BACKEND_TLS.optional(),
  ...unsupported(
    'auth',
    'backendTunnel',
    'finalTransformation',
    'guardrails',
    'health',
    'id',
    'matches',
    'passthrough',
    'promptCaching',
    'tls',
    'transformation',
  ),
})

export type ModelShape = z.output<typeof model>

const targetOf = <Fields extends z.ZodRawShape>(fields: Fields) =>
  z.strictObject({ targets: z.array(z.strictObject({ model: text, ...fields })).min(1) })

const virtualModel = z.strictObject({
  name: partOfKey.describe('Model clients ask for'),
  routing: choice({
    weighted: targetOf({ weight: z.int().min(0).default(1) }),
    failover: targetOf({ priority: z.int().min(0).default(0) }),
    conditional: targetOf({ when: orNull(expression('rule')) }),
  }).describe('`weighted`, `failover` or `conditional`, each with targets among the models'),
})

export type VirtualModelShape = z.output<typeof virtualModel>

export const LLM = z
  .strictObject({
    port: listenPort.optional().describe('Port of its own; default 4000'),
    gateways: gatewayNames.optional().describe('Or the gateways it is served by'),
    providers: z.array(PROVIDER).default([]).describe('Providers that models refer to by name'),
    models: z.array(model).min(1).describe('Models clients may ask for'),
    virtualModels: z.array(virtualModel).default([]).describe('Models made of other models'),
    policies: POLICIES.optional(),
    ...unsupported('tls'),
  })
  .describe('LLM models on a port of their own, or attached to a gateway')

export type LlmShape = z.output<typeof LLM>
