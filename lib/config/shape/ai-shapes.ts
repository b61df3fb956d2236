// Shapes of the `ai` backend of a route and of the `ai` policy.

import type { AiProvider, LlmFormat } from '../backend-types.ts'
import { z } from 'zod'
import {
  endpoint,
  exactlyOneOf,
  nonEmptyText,
  oneFormOf,
  optionalOrNull,
  targetPath,
  unsupportedFields,
} from './value-shapes.ts'
import { BACKEND_AUTH, BACKEND_TLS } from './traffic-shapes.ts'

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
export function bodyFields(instead: string) {
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

export const modelName = nonEmptyText.describe('Model to ask for instead of the one in the request')

const MODEL = { model: optionalOrNull(modelName) }

export const AZURE_TYPES = ['openAI', 'foundry', 'aiServices'] as const

const formats = z
  .array(z.strictObject({ type: z.enum(FORMATS), path: optionalOrNull(targetPath) }))
  .min(1)
  .describe('Dialects it speaks, each with its path')

/** Fields of providers that need more than a model. */
export const CUSTOM_PROVIDER = z
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
export const PROVIDER_LOCATION = {
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
