// What users write under `llm`: models by name, and the providers behind them.

import { z } from 'zod'
import { AUTHORIZATION } from './auth-shapes.ts'
import { REQUEST_HEADERS, RESPONSE_HEADERS } from './header-shapes.ts'
import { POLICIES } from './policy-shapes.ts'
import { BACKEND_TLS, secretHeaderValue } from './traffic-shapes.ts'
import {
  exactlyOneOf,
  expressionAt,
  gatewayNames,
  httpUrl,
  keySegment,
  listenPort,
  nonEmptyText,
  oneFormOf,
  optionalOrNull,
  unsupportedFields,
} from './value-shapes.ts'
import {
  AZURE_TYPES,
  bodyFields,
  CUSTOM_PROVIDER,
  modelName,
  PROVIDER_LOCATION,
} from './ai-shapes.ts'

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
    model: optionalOrNull(modelName),
    apiKey: optionalOrNull(secretHeaderValue).describe('Key for the provider'),
    baseUrl: optionalOrNull(baseUrl).describe("URL instead of the provider's own"),
    awsRegion: optionalOrNull(nonEmptyText).describe('Needed by `bedrock`'),
    azureResourceName: optionalOrNull(nonEmptyText).describe('Needed by `azure`'),
    azureResourceType: optionalOrNull(z.enum(AZURE_TYPES)).describe('Needed by `azure`'),
    azureApiVersion: optionalOrNull(nonEmptyText).describe('For `azure`'),
    ...PROVIDER_LOCATION,
    ...unsupportedFields('azureProjectName', 'vertexRegion', 'vertexProject'),
  })
  .meta({ id: 'LlmParams', description: 'How the provider is reached' })

export type ParamsShape = z.output<typeof params>

const custom = exactlyOneOf({ custom: CUSTOM_PROVIDER })

const namedProvider = oneFormOf(
  [z.enum(PROVIDER_NAMES), custom],
  `expected one of ${PROVIDER_NAMES.join(', ')}, or an object with custom`,
)

const PROVIDER = z.strictObject({
  name: nonEmptyText.describe('What models refer to'),
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
  provider: oneFormOf(
    [z.enum(PROVIDER_NAMES), exactlyOneOf({ reference: nonEmptyText, custom: CUSTOM_PROVIDER })],
    `expected one of ${PROVIDER_NAMES.join(', ')}, or an object with one of 'reference', 'custom'`,
  ).describe('A kind, `{reference: name}` of `providers`, or `{custom}`'),
  params: params.optional(),
  authorization: AUTHORIZATION.optional(),
  defaults: modelFields.describe('Body fields to set where they are missing'),
  overrides: modelFields.describe('Body fields to set always'),
  requestHeaders: REQUEST_HEADERS.optional(),
  responseHeaders: RESPONSE_HEADERS.optional(),
  backendTLS: BACKEND_TLS.optional(),
  ...unsupportedFields(
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
  z.strictObject({ targets: z.array(z.strictObject({ model: nonEmptyText, ...fields })).min(1) })

const virtualModel = z.strictObject({
  name: keySegment.describe('Model clients ask for'),
  routing: exactlyOneOf({
    weighted: targetOf({ weight: z.int().min(0).default(1) }),
    failover: targetOf({ priority: z.int().min(0).default(0) }),
    conditional: targetOf({ when: optionalOrNull(expressionAt('rule')) }),
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
    ...unsupportedFields('tls'),
  })
  .describe('LLM models on a port of their own, or attached to a gateway')

export type LlmShape = z.output<typeof LLM>
