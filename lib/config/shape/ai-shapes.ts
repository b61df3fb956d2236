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

/** JSON fields for request bodies; `modelSetting` names the setting for the model, which is refused here. */
export function bodyFields(modelSetting: string) {
  return z
    .record(nonEmptyText, z.unknown())
    .superRefine((fields, context) => {
      const message = `got a model, expected none: use ${modelSetting}`
      // Some JSON parsers ignore case and read `Model` as `model`.
      for (const name of Object.keys(fields))
        if (name.toLowerCase() === 'model')
          context.addIssue({ code: 'custom', message, path: [name] })
    })
    .default({})
}

const policyFields = bodyFields("the provider's model, params.model or modelAliases")

export const modelName = nonEmptyText.describe('Model that replaces the one in the request.')

const MODEL = { model: optionalOrNull(modelName) }

export const AZURE_TYPES = ['openAI', 'foundry', 'aiServices'] as const

const formats = z
  .array(z.strictObject({ type: z.enum(FORMATS), path: optionalOrNull(targetPath) }))
  .min(1)
  .describe('API formats of the provider, each with its path.')

export const CUSTOM_PROVIDER = z
  .strictObject({ formats, ...MODEL, ...unsupportedFields('providerOverride') })
  .meta({ id: 'CustomProvider', description: 'Any host with known API formats.' })

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
).transform((fields): AiProvider => {
  const { openAI, anthropic, gemini, mock, bedrock, azure, custom } = fields
  if (anthropic !== undefined) return { kind: 'anthropic', ...anthropic }
  if (gemini !== undefined) return { kind: 'gemini', ...gemini }
  if (mock !== undefined) return { kind: 'mock', ...mock }
  if (bedrock !== undefined) return { kind: 'bedrock', ...bedrock }
  if (azure !== undefined) return { kind: 'azure', ...azure }
  if (custom !== undefined) return { kind: 'custom', ...custom }
  return { kind: 'openAI', model: openAI?.model ?? null }
})

/** Host and path of a provider. */
export const PROVIDER_LOCATION = {
  hostOverride: optionalOrNull(endpoint).describe(
    'Address that replaces the host of the provider: `host:port`.',
  ),
  pathOverride: optionalOrNull(targetPath).describe('Path of every request to the provider.'),
  pathPrefix: optionalOrNull(targetPath).describe('Prefix of the default paths.'),
  ...unsupportedFields('tokenize'),
}

export const AI_POLICY = z
  .strictObject({
    modelAliases: z
      .record(nonEmptyText, nonEmptyText)
      .default({})
      .describe(
        'Model names of clients and the models that replace them; a name may contain one `*`.',
      ),
    routes: z
      .record(z.string().regex(/^(?:\*|\/\S*)$/, 'expected a path suffix or *'), z.enum(FORMATS))
      .default({})
      .describe('API formats by path suffix or `*`.'),
    defaults: policyFields.describe('Body fields that are set if they are missing.'),
    overrides: policyFields.describe('Body fields that are always set.'),
    usage: z
      .enum(['inject', 'limited', 'passthrough'])
      .default('inject')
      .describe(
        '`inject` requests usage in streams, and hides it from the client; `limited` does so only where tokens are limited; `passthrough` does not change requests.',
      ),
    ...unsupportedFields(
      'finalTransformations',
      'promptCaching',
      'promptGuard',
      'prompts',
      'transformations',
    ),
  })
  .meta({ id: 'AiPolicy', description: 'Changes LLM requests.' })

const entry = {
  name: nonEmptyText.describe('Name in logs and in `llm.provider`.'),
  provider: provider.describe(
    'Provider: one of `openAI`, `anthropic`, `gemini`, `azure`, `bedrock`, `custom`, `mock`.',
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
    description:
      'Credential and TLS of this provider; they override those of its backend and route.',
  })

const aiEntry = z
  .strictObject({ ...entry, policies: ENTRY_POLICIES.optional() })
  .meta({ id: 'AiProvider', description: 'An LLM provider.' })

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
    .describe(
      'Groups of providers in failover order; the next group is used when all providers of one fail.',
    ),
})

export const AI_BACKEND = oneFormOf(
  [oneProvider, groups],
  'expected an object with provider, or with groups',
).meta({ id: 'AiBackend', description: 'An LLM provider, or groups of providers.' })

export type AiShape = z.output<typeof AI_BACKEND>
