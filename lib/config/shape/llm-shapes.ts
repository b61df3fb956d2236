// What users write under `llm`: models by name, and the providers behind them.

import { z } from 'zod'
import type { AiProvider, LlmFormat } from '../backend-types.ts'
import { AUTHORIZATION } from './auth-shapes.ts'
import { REQUEST_HEADERS, RESPONSE_HEADERS } from './header-shapes.ts'
import { POLICIES } from './policy-shapes.ts'
import { BACKEND_AUTH, BACKEND_TLS, secretHeaderValue } from './traffic-shapes.ts'
import {
  endpoint,
  exactlyOneOf,
  expressionAt,
  gatewayNames,
  httpUrl,
  keySegment,
  listenPort,
  nonEmptyText,
  oneFormOf,
  optionalOrNull,
  targetPath,
  unsupportedFields,
} from './value-shapes.ts'

// What users write to reach LLM providers from a route: the `ai` backend and the `ai` policy.

const FORMATS = [
  'completions',
  'messages',
  'models',
  'passthrough',
  'detect',
  'responses',
  'embeddings',
  'realtime',
  'anthropicTokenCount',
  'generateContent',
  'geminiCountTokens',
  'rerank',
] as const satisfies readonly LlmFormat[]

/** JSON to put into request bodies; `instead` is where the model is chosen. */
function bodyFields(instead: string) {
  return z
    .record(nonEmptyText, z.unknown())
    .superRefine((fields, context) => {
      const message = `got a model, expected it elsewhere: use ${instead}`
      // Some readers of JSON take `ModelMetrics` for the same.
      for (const name of Object.keys(fields))
        if (name.toLowerCase() === 'model')
          context.addIssue({ code: 'custom', message, path: [name] })
    })
    .default({})
}

const policyFields = bodyFields("the provider's model, params.model or modelAliases")

const modelName = nonEmptyText.describe('Model to ask for instead of the one in the request')

const MODEL = { model: optionalOrNull(modelName) }

const AZURE_TYPES = ['openAI', 'foundry', 'aiServices'] as const

const formats = z
  .array(z.strictObject({ type: z.enum(FORMATS), path: optionalOrNull(targetPath) }))
  .min(1)
  .describe('Dialects it speaks, each with its path')

/** Fields of providers that need more than a model. */
const CUSTOM_PROVIDER = z
  .strictObject({ formats, ...MODEL, ...unsupportedFields('providerOverride') })
  .meta({ id: 'CustomProvider', description: 'A host that speaks known dialects' })

const provider = exactlyOneOf(
  {
    openAI: z.strictObject({ ...MODEL, ...unsupportedFields('moderation') }),
    anthropic: z.strictObject(MODEL),
    gemini: z.strictObject(MODEL),
    mock: z.strictObject(MODEL),
    bedrock: z.strictObject({
      region: nonEmptyText,
      ...MODEL,
      ...unsupportedFields('guardrailIdentifier', 'guardrailVersion'),
    }),
    azure: z.strictObject({
      resourceName: nonEmptyText,
      resourceType: z.enum(AZURE_TYPES),
      apiVersion: optionalOrNull(nonEmptyText),
      ...MODEL,
      ...unsupportedFields('projectName'),
    }),
    custom: CUSTOM_PROVIDER,
  },
  ['vertex', 'copilot'],
).transform((written): AiProvider => {
  const { openAI, anthropic, gemini, mock, bedrock, azure, custom } = written
  if (anthropic !== undefined) return { kind: 'anthropic', ...anthropic }
  if (gemini !== undefined) return { kind: 'gemini', ...gemini }
  if (mock !== undefined) return { kind: 'mock', ...mock }
  if (bedrock !== undefined) return { kind: 'bedrock', ...bedrock }
  if (azure !== undefined) return { kind: 'azure', ...azure }
  if (custom !== undefined) return { kind: 'custom', ...custom }
  return { kind: 'openAI', model: openAI?.model ?? null }
})

/** Where a provider is reached, and by which path. */
const PROVIDER_LOCATION = {
  hostOverride: optionalOrNull(endpoint).describe("`host:port` instead of the provider's own"),
  pathOverride: optionalOrNull(targetPath).describe('Path of every call'),
  pathPrefix: optionalOrNull(targetPath).describe('Path in front of the usual one'),
  ...unsupportedFields('tokenize'),
}

export const AI_POLICY = z
  .strictObject({
    modelAliases: z
      .record(nonEmptyText, nonEmptyText)
      .default({})
      .describe('Model names of clients and what they stand for; may hold one `*`'),
    routes: z
      .record(z.string().regex(/^(?:\*|\/\S*)$/, 'expected a path suffix or *'), z.enum(FORMATS))
      .default({})
      .describe('Path suffix or `*`, and the dialect spoken there'),
    defaults: policyFields.describe('Body fields to set where they are missing'),
    overrides: policyFields.describe('Body fields to set always'),
    usage: z
      .enum(['inject', 'passthrough'])
      .default('inject')
      .describe(
        '`inject`: where tokens are limited, streams are asked to count them, unseen by the client',
      ),
    ...unsupportedFields(
      'finalTransformations',
      'promptCaching',
      'promptGuard',
      'prompts',
      'transformations',
    ),
  })
  .meta({ id: 'AiPolicy', description: 'How LLM requests are read and changed' })

const entry = {
  name: nonEmptyText.describe('Name in logs and in `llm.provider`'),
  provider: provider.describe(
    'One of `openAI`, `anthropic`, `gemini`, `azure`, `bedrock`, `custom`, `mock`',
  ),
  ...PROVIDER_LOCATION,
}

const ENTRY_POLICIES = z
  .strictObject({
    backendAuth: BACKEND_AUTH.optional(),
    backendTLS: BACKEND_TLS.optional(),
  })
  .meta({
    id: 'ProviderPolicies',
    description: 'Key and TLS of this provider, in front of those of its backend and route',
  })

const aiEntry = z
  .strictObject({ ...entry, policies: ENTRY_POLICIES.optional() })
  .meta({ id: 'AiProvider', description: 'One LLM provider' })

function checkEntry(
  { provider: { kind }, hostOverride, pathOverride, pathPrefix }: z.output<typeof aiEntry>,
  context: z.core.$RefinementCtx,
): void {
  const fail = (message: string): void => context.addIssue({ code: 'custom', message })
  if (kind === 'custom' && hostOverride === null)
    fail('custom providers require an explicit host override')
  if (pathOverride !== null && pathPrefix !== null)
    fail('got pathOverride and pathPrefix, expected one of them')
}

const oneProvider = aiEntry.superRefine(checkEntry)

const groups = z.strictObject({
  groups: z
    .array(z.strictObject({ providers: z.array(oneProvider).min(1) }))
    .min(1)
    .describe('Groups of providers; the next group when all of one fail'),
})

export const AI_BACKEND = oneFormOf(
  [oneProvider, groups],
  'expected an object with provider, or with groups',
).meta({ id: 'AiBackend', description: 'An LLM provider, or groups of them' })

export type AiShape = z.output<typeof AI_BACKEND>

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
