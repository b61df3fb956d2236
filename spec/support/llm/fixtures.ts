// Stored responses of every dialect, and the usage, cost and facts expected in them.

import { PROMPT_GUESS, counted, tokens } from './fixture.ts'
import type { Fixture } from './fixture.ts'

const COMPLETIONS: readonly Fixture[] = [
  {
    file: 'chat-stream.sse',
    format: 'completions',
    usage: {
      input: 1117,
      output: 46,
      total: 1163,
      cachedInput: 1024,
      reasoning: 12,
      inputAudio: 0,
      outputAudio: 0,
    },
    cost: counted(1117, 46),
    facts: {
      ...tokens(1117, 46),
      responseModel: 'gpt-4o-2024-08-06',
      serviceTier: 'default',
      cachedInputTokens: 1024,
      reasoningTokens: 12,
      inputAudioTokens: 0,
      outputAudioTokens: 0,
    },
  },
  {
    file: 'chat-stream-last-choice.sse',
    format: 'completions',
    usage: { input: 14, output: 3, total: 17 },
    cost: counted(14, 3),
    facts: { ...tokens(14, 3), responseModel: 'mistral-small-latest' },
  },
  {
    file: 'chat-stream-cumulative.sse',
    format: 'completions',
    usage: { input: 21, output: 3, total: 24 },
    cost: counted(21, 3),
    facts: { ...tokens(21, 3), responseModel: 'meta-llama/Llama-3.1-8B-Instruct' },
  },
  {
    file: 'chat-stream-azure.sse',
    format: 'completions',
    usage: {
      input: 18,
      output: 2,
      total: 20,
      cachedInput: 0,
      reasoning: 0,
      inputAudio: 0,
      outputAudio: 0,
    },
    cost: counted(18, 2),
    facts: {
      ...tokens(18, 2),
      responseModel: 'gpt-4o-mini-2024-07-18',
      cachedInputTokens: 0,
      reasoningTokens: 0,
      inputAudioTokens: 0,
      outputAudioTokens: 0,
    },
  },
  {
    file: 'chat-stream-groq.sse',
    format: 'completions',
    usage: { input: 23, output: 3, total: 26 },
    cost: counted(23, 3),
    facts: { ...tokens(23, 3), responseModel: 'llama-3.3-70b-versatile' },
  },
  {
    file: 'chat-stream-no-usage.sse',
    format: 'completions',
    usage: null,
    cost: { input: PROMPT_GUESS, output: 4, basis: 'estimated' },
    facts: { responseModel: 'local' },
  },
  {
    file: 'text-stream.sse',
    format: 'completions',
    usage: { input: 5, output: 7, total: 12 },
    cost: counted(5, 7),
    facts: { ...tokens(5, 7), responseModel: 'gpt-3.5-turbo-instruct:20230824-v2' },
  },
  {
    file: 'chat.json',
    format: 'completions',
    usage: {
      input: 19,
      output: 10,
      total: 29,
      cachedInput: 16,
      reasoning: 4,
      inputAudio: 2,
      outputAudio: 3,
    },
    cost: counted(19, 10),
    facts: {
      ...tokens(19, 10),
      responseModel: 'gpt-4.1-2025-04-14',
      serviceTier: 'flex',
      cachedInputTokens: 16,
      reasoningTokens: 4,
      inputAudioTokens: 2,
      outputAudioTokens: 3,
    },
  },
  {
    file: 'text.json',
    format: 'completions',
    usage: { input: 5, output: 7, total: 12 },
    cost: counted(5, 7),
    facts: { ...tokens(5, 7), responseModel: 'gpt-3.5-turbo-instruct:20230824-v2' },
  },
]

const MESSAGES: readonly Fixture[] = [
  {
    file: 'messages-stream.sse',
    format: 'messages',
    usage: { input: 25, output: 42, cachedInput: 2048, cacheCreation: 300 },
    cost: counted(2373, 42),
    facts: {
      ...tokens(2373, 42, 25),
      responseModel: 'claude-sonnet-4-20250514',
      serviceTier: 'standard',
      cachedInputTokens: 2048,
      cacheCreationInputTokens: 300,
    },
  },
  {
    file: 'messages-stream-delta.sse',
    format: 'messages',
    usage: { input: 31, output: 9, cachedInput: 512, cacheCreation: 0, reasoning: 4 },
    cost: counted(543, 9),
    facts: {
      ...tokens(543, 9, 31),
      responseModel: 'claude-sonnet-4-20250514',
      cachedInputTokens: 512,
      cacheCreationInputTokens: 0,
      reasoningTokens: 4,
    },
  },
  {
    file: 'messages-stream-bedrock.sse',
    format: 'messages',
    usage: { input: 11, output: 6 },
    cost: counted(11, 6),
    facts: { ...tokens(11, 6), responseModel: 'claude-3-5-sonnet-20241022' },
  },
  {
    file: 'messages.json',
    format: 'messages',
    usage: { input: 2095, output: 503, cachedInput: 128, cacheCreation: 0 },
    cost: counted(2223, 503),
    facts: {
      ...tokens(2223, 503, 2095),
      responseModel: 'claude-opus-4-20250514',
      serviceTier: 'priority',
      cachedInputTokens: 128,
      cacheCreationInputTokens: 0,
    },
  },
]

const RESPONSES: readonly Fixture[] = [
  {
    file: 'responses-stream.sse',
    format: 'responses',
    usage: { input: 75, output: 1186, total: 1261, cachedInput: 64, reasoning: 1024 },
    cost: counted(75, 1186),
    facts: {
      ...tokens(75, 1186),
      responseModel: 'o4-mini-2025-04-16',
      serviceTier: 'auto',
      cachedInputTokens: 64,
      reasoningTokens: 1024,
    },
  },
  {
    file: 'responses-stream-incomplete.sse',
    format: 'responses',
    usage: { input: 75, output: 16, total: 91, cachedInput: 64, reasoning: 0 },
    cost: counted(75, 16),
    facts: {
      ...tokens(75, 16),
      responseModel: 'o4-mini-2025-04-16',
      serviceTier: 'default',
      cachedInputTokens: 64,
      reasoningTokens: 0,
    },
  },
  {
    file: 'responses-stream-failed.sse',
    format: 'responses',
    usage: null,
    cost: { input: PROMPT_GUESS, output: 3, basis: 'estimated' },
    facts: { responseModel: 'o4-mini-2025-04-16', serviceTier: 'default' },
  },
  {
    file: 'responses.json',
    format: 'responses',
    usage: { input: 36, output: 87, total: 123, cachedInput: 0, reasoning: 0 },
    cost: counted(36, 87),
    facts: {
      ...tokens(36, 87),
      responseModel: 'o4-mini-2025-04-16',
      serviceTier: 'default',
      cachedInputTokens: 0,
      reasoningTokens: 0,
    },
  },
]

const GEMINI_STREAM = {
  format: 'generateContent',
  usage: { input: 5, output: 230, total: 235, reasoning: 186 },
  cost: counted(5, 230),
  facts: { ...tokens(5, 230), responseModel: 'gemini-2.5-flash', reasoningTokens: 186 },
} as const

const GEMINI: readonly Fixture[] = [
  { file: 'generate-content-stream.sse', ...GEMINI_STREAM },
  { file: 'generate-content-stream.json', ...GEMINI_STREAM },
  {
    file: 'generate-content.json',
    format: 'generateContent',
    usage: { input: 49, output: 12, total: 61, cachedInput: 32 },
    cost: counted(49, 12),
    facts: { ...tokens(49, 12), responseModel: 'gemini-2.5-flash', cachedInputTokens: 32 },
  },
]

const OTHERS: readonly Fixture[] = [
  {
    file: 'converse.json',
    format: 'detect',
    usage: { input: 125, output: 60, total: 305, cachedInput: 100, cacheCreation: 20 },
    cost: counted(245, 60),
    facts: {
      ...tokens(245, 60, 125),
      providerTotalTokens: 305,
      cachedInputTokens: 100,
      cacheCreationInputTokens: 20,
    },
  },
  {
    file: 'converse-stream.sse',
    format: 'detect',
    usage: { input: 125, output: 60, total: 185 },
    cost: counted(125, 60),
    facts: tokens(125, 60),
  },
  {
    file: 'images.json',
    format: 'detect',
    usage: { input: 50, output: 4160, total: 4210 },
    cost: counted(50, 4160),
    facts: tokens(50, 4160),
  },
  {
    file: 'embeddings.json',
    format: 'embeddings',
    usage: { input: 8, total: 8 },
    cost: counted(8, 0),
    facts: { ...tokens(8, 0), responseModel: 'text-embedding-3-small' },
  },
  {
    file: 'embeddings-total.json',
    format: 'embeddings',
    usage: { total: 10 },
    cost: counted(10, 0),
    facts: {
      inputTokens: 10,
      outputTokens: 0,
      totalTokens: 10,
      providerTotalTokens: 10,
      responseModel: 'voyage-3.5',
    },
  },
  {
    file: 'rerank.json',
    format: 'rerank',
    usage: { input: 97, output: 0 },
    cost: counted(97, 0),
    facts: tokens(97, 0),
  },
  {
    file: 'rerank-total.json',
    format: 'rerank',
    usage: { total: 26 },
    cost: counted(26, 0),
    facts: {
      inputTokens: 26,
      outputTokens: 0,
      totalTokens: 26,
      providerTotalTokens: 26,
      responseModel: 'rerank-2.5',
    },
  },
  {
    file: 'count-tokens.json',
    format: 'anthropicTokenCount',
    usage: null,
    cost: counted(0, 0),
    facts: { countTokens: 2095 },
  },
  {
    file: 'gemini-count-tokens.json',
    format: 'geminiCountTokens',
    usage: null,
    cost: counted(0, 0),
    facts: { countTokens: 31 },
  },
  { file: 'models.json', format: 'models', usage: null, cost: counted(0, 0), facts: {} },
]

export const FIXTURES: readonly Fixture[] = [
  ...COMPLETIONS,
  ...MESSAGES,
  ...RESPONSES,
  ...GEMINI,
  ...OTHERS,
]
