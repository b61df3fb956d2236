// Shapes of the section `llm`: models, virtual models and providers.

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
  ipAddress,
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
  error: 'got a URL with a query, expected none: each request has its own query',
})

const params = z
  .strictObject({
    model: optionalOrNull(modelName),
    apiKey: optionalOrNull(secretHeaderValue).describe('API key for the provider.'),
    baseUrl: optionalOrNull(baseUrl).describe(
      'URL that replaces host, TLS and path prefix of the provider.',
    ),
    awsRegion: optionalOrNull(nonEmptyText).describe('AWS region; required for `bedrock`.'),
    azureResourceName: optionalOrNull(nonEmptyText).describe(
      'Name of the Azure resource; required for `azure`.',
    ),
    azureResourceType: optionalOrNull(z.enum(AZURE_TYPES)).describe(
      'Type of the Azure resource; required for `azure`.',
    ),
    azureApiVersion: optionalOrNull(nonEmptyText).describe('API version for `azure`.'),
    ...PROVIDER_LOCATION,
    ...unsupportedFields('azureProjectName', 'vertexRegion', 'vertexProject'),
  })
  .meta({ id: 'LlmParams', description: 'Location, credential and model of a provider.' })

export type ParamsShape = z.output<typeof params>

const custom = exactlyOneOf({ custom: CUSTOM_PROVIDER })

const namedProvider = oneFormOf(
  [z.enum(PROVIDER_NAMES), custom],
  `expected one of ${PROVIDER_NAMES.join(', ')}, or an object with custom`,
)

const PROVIDER = z.strictObject({
  name: nonEmptyText.describe('Name that models refer to.'),
  provider: namedProvider.describe('Kind of the provider.'),
  params: params.optional(),
})

const modelFields = bodyFields('params.model')

/** A model name, in which a `*` at the start or end matches any text. */
const modelPattern = z
  .string()
  .regex(/^(?:\*[^*\s]*|[^*\s]+\*?)$/, {
    error: ({ input }) =>
      `got '${String(input)}', expected a model name with at most one *, at an end`,
  })
  .describe('Model name in requests; it may begin or end with `*`.')

const model = z.strictObject({
  name: modelPattern,
  visibility: z
    .enum(['public', 'internal'])
    .default('public')
    .describe('Whether clients may use the model; an `internal` one is only for virtual models.'),
  provider: oneFormOf(
    [z.enum(PROVIDER_NAMES), exactlyOneOf({ reference: nonEmptyText, custom: CUSTOM_PROVIDER })],
    `expected one of ${PROVIDER_NAMES.join(', ')}, or an object with one of 'reference', 'custom'`,
  ).describe(
    'Kind of the provider, `{reference: name}` of an entry in `providers`, or `{custom}`.',
  ),
  params: params.optional(),
  authorization: AUTHORIZATION.optional(),
  defaults: modelFields.describe('Body fields that are set if they are missing.'),
  overrides: modelFields.describe('Body fields that are always set.'),
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

const targetsWith = <Fields extends z.ZodRawShape>(fields: Fields) =>
  z.strictObject({ targets: z.array(z.strictObject({ model: nonEmptyText, ...fields })).min(1) })

const virtualModel = z.strictObject({
  name: keySegment.describe('Model name in requests.'),
  routing: exactlyOneOf({
    weighted: targetsWith({ weight: z.int().min(0).default(1) }),
    failover: targetsWith({ priority: z.int().min(0).default(0) }),
    conditional: targetsWith({ when: optionalOrNull(expressionAt('rule')) }),
  }).describe(
    'How a model is selected: `weighted`, `failover` or `conditional`, each with `targets` in `models`.',
  ),
})

export type VirtualModelShape = z.output<typeof virtualModel>

export const LLM = z
  .strictObject({
    port: listenPort.optional().describe('Port of the section; the default is 4000.'),
    address: ipAddress.optional().describe('IP address to listen on.').meta({ preset: '::' }),
    gateways: gatewayNames
      .optional()
      .describe('Gateways that serve the section instead of its own port.'),
    providers: z.array(PROVIDER).default([]).describe('Providers that models refer to by name.'),
    models: z.array(model).min(1).describe('Models that clients may use.'),
    virtualModels: z
      .array(virtualModel)
      .default([])
      .describe('Models that select one of other models.'),
    policies: POLICIES.optional(),
    ...unsupportedFields('tls'),
  })
  .describe('LLM models on their own port or attached to gateways.')

export type LlmShape = z.output<typeof LLM>
