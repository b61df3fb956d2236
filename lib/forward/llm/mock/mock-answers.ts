// The answers of the mock provider: chat completions, messages, token counts and lists of models. The same request always
// gets the same bytes.

import { guessTokens } from '../usage/extract-usage.ts'
import {
  collectTexts,
  hashTexts,
  invalid,
  lastUserText,
  missing,
  readList,
  readMaxTokens,
  readName,
  readObject,
} from './mock-request.ts'
import type { ErrorStyle, Json, MockFault } from './mock-request.ts'

/** One path of the mock provider. */
export interface MockEndpoint {
  readonly method: 'GET' | 'POST'
  readonly style: ErrorStyle
  readonly answer: (body: Json) => MockAnswer | MockFault
}

/** The content of a response: one JSON document, or all events of a stream. */
export interface MockAnswer {
  readonly kind: 'answer'
  readonly form: 'whole' | 'stream'
  readonly text: string
}

/** What a request asks for, in either dialect. */
interface Prompt {
  readonly kind: 'prompt'
  readonly model: string
  /** All texts that count as input. */
  readonly texts: readonly string[]
  readonly userText: string
  readonly maxTokens: number
}

interface Completion {
  /** Made of the request; each dialect adds its own prefix. */
  readonly id: string
  readonly model: string
  /** Each is one token; joined they are the text. */
  readonly words: readonly string[]
  readonly finish: 'stop' | 'length'
  readonly inputTokens: number
}

const MODEL = 'mock'

/** The time of every answer is fixed, so that answers repeat to the byte. */
const CREATED = 1_700_000_000

/** Of the user's text that an answer repeats, in code points. */
const MAX_ECHO = 200

export const CHAT: MockEndpoint = {
  method: 'POST',
  style: 'openai',
  answer(body) {
    const prompt = readPrompt(body, body['max_completion_tokens'] ?? body['max_tokens'])
    if (prompt.kind === 'fault') return prompt
    const completion = complete(prompt)
    if (body['stream'] !== true) return jsonAnswer(wholeChat(completion))
    const asksUsage = readObject(body['stream_options'])['include_usage'] === true
    const usage = asksUsage ? 'asked' : 'unasked'
    return { kind: 'answer', form: 'stream', text: chatEvents(completion, usage) }
  },
}

export const MESSAGES: MockEndpoint = {
  method: 'POST',
  style: 'anthropic',
  answer(body) {
    const prompt = readPrompt(body, body['max_tokens'])
    if (prompt.kind === 'fault') return prompt
    const completion = complete(prompt)
    if (body['stream'] !== true) return jsonAnswer(wholeMessage(completion))
    const text = messageEvents(completion)
      .map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
      .join('')
    return { kind: 'answer', form: 'stream', text }
  },
}

export const COUNT_TOKENS: MockEndpoint = {
  method: 'POST',
  style: 'anthropic',
  answer(body) {
    const prompt = readPrompt(body, body['max_tokens'])
    if (prompt.kind === 'fault') return prompt
    return jsonAnswer({ input_tokens: countTokens(prompt.texts) })
  },
}

export const OPENAI_MODELS: MockEndpoint = {
  method: 'GET',
  style: 'openai',
  answer() {
    const model = { id: MODEL, object: 'model', created: CREATED, owned_by: 'mock' }
    return jsonAnswer({ object: 'list', data: [model] })
  },
}

export const ANTHROPIC_MODELS: MockEndpoint = {
  method: 'GET',
  style: 'anthropic',
  answer() {
    const created_at = new Date(CREATED * 1000).toISOString()
    const model = { type: 'model', id: MODEL, display_name: MODEL, created_at }
    return jsonAnswer({ data: [model], has_more: false, first_id: MODEL, last_id: MODEL })
  },
}

/** `system` is a field of messages only; chat completions have it among their messages. */
function readPrompt(body: Json, limit: unknown): Prompt | MockFault {
  const model = readName(body['model'])
  const messages = readList(body['messages'])
  const maxTokens = readMaxTokens(limit)
  if (model === '') return missing('model')
  if (messages.length === 0) return missing('messages')
  if (maxTokens === null) return invalid('max_tokens')
  const texts = [...collectTexts(body['system']), ...collectTexts(messages)]
  return { kind: 'prompt', model, texts, userText: lastUserText(messages), maxTokens }
}

function complete({ model, texts, userText, maxTokens }: Prompt): Completion {
  const all = wordsOf(userText)
  const words = all.slice(0, maxTokens)
  return {
    // Not of the bytes of the request: an answer has the same id whether it is streamed or not.
    id: hashTexts(model, ...texts),
    model,
    words,
    finish: words.length < all.length ? 'length' : 'stop',
    inputTokens: countTokens(texts),
  }
}

/** Each word but the first keeps the space in front of it, as models write them. */
function wordsOf(userText: string): string[] {
  // By code points, so that no character is cut in half.
  const echo = Array.from(userText.substring(0, 2 * MAX_ECHO))
    .slice(0, MAX_ECHO)
    .join('')
    .trim()
  const text = echo === '' ? 'You said nothing.' : `You said: ${echo}`
  return text.split(/\s+/).map((word, index) => (index === 0 ? word : ` ${word}`))
}

function countTokens(texts: readonly string[]): number {
  const bytes = texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0)
  return Math.max(1, guessTokens(bytes))
}

function jsonAnswer(content: Json): MockAnswer {
  return { kind: 'answer', form: 'whole', text: JSON.stringify(content) }
}

const CHAT_TAIL = { service_tier: 'default', system_fingerprint: 'fp_mock' }

function chatHead({ id, model }: Completion, object: string): Json {
  return { id: `chatcmpl-${id}`, object, created: CREATED, model }
}

function wholeChat(completion: Completion): Json {
  const content = completion.words.join('')
  const message = { role: 'assistant', content, refusal: null, annotations: [] }
  const choice = { index: 0, message, logprobs: null, finish_reason: completion.finish }
  return {
    ...chatHead(completion, 'chat.completion'),
    choices: [choice],
    usage: chatUsage(completion),
    ...CHAT_TAIL,
  }
}

/** With usage asked for, every chunk has the field, and one more chunk before the end has the counts. */
function chatEvents(completion: Completion, usage: 'asked' | 'unasked'): string {
  const head = { ...chatHead(completion, 'chat.completion.chunk'), ...CHAT_TAIL }
  const event = (data: Json): string => `data: ${JSON.stringify(data)}\n\n`
  const noUsage = usage === 'asked' ? { usage: null } : {}
  const chunk = (delta: Json, finish: string | null): string => {
    const choice = { index: 0, delta, logprobs: null, finish_reason: finish }
    return event({ ...head, choices: [choice], ...noUsage })
  }
  return [
    chunk({ role: 'assistant', content: '', refusal: null }, null),
    ...completion.words.map((content) => chunk({ content }, null)),
    chunk({}, completion.finish),
    usage === 'asked' ? event({ ...head, choices: [], usage: chatUsage(completion) }) : '',
    'data: [DONE]\n\n',
  ].join('')
}

function chatUsage({ inputTokens, words }: Completion): Json {
  return {
    prompt_tokens: inputTokens,
    completion_tokens: words.length,
    total_tokens: inputTokens + words.length,
    prompt_tokens_details: { cached_tokens: 0, audio_tokens: 0 },
    completion_tokens_details: {
      reasoning_tokens: 0,
      audio_tokens: 0,
      accepted_prediction_tokens: 0,
      rejected_prediction_tokens: 0,
    },
  }
}

const MESSAGE_TIER = { service_tier: 'standard' }

function messageHead({ id, model }: Completion): Json {
  return { id: `msg_${id}`, type: 'message', role: 'assistant', model }
}

function wholeMessage(completion: Completion): Json {
  const { words } = completion
  return {
    ...messageHead(completion),
    content: [{ type: 'text', text: words.join('') }],
    ...messageStop(completion),
    usage: { ...messageUsage(completion, words.length), ...MESSAGE_TIER },
  }
}

/** The first event has the input count, the last but one the output count. */
function messageEvents(completion: Completion): (Json & { readonly type: string })[] {
  const message = {
    ...messageHead(completion),
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage: { ...messageUsage(completion, 1), ...MESSAGE_TIER },
  }
  const deltas = completion.words.map((text) => ({
    type: 'content_block_delta',
    index: 0,
    delta: { type: 'text_delta', text },
  }))
  const usage = messageUsage(completion, completion.words.length)
  return [
    { type: 'message_start', message },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    { type: 'ping' },
    ...deltas,
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: messageStop(completion), usage },
    { type: 'message_stop' },
  ]
}

function messageStop({ finish }: Completion): Json {
  return { stop_reason: finish === 'stop' ? 'end_turn' : 'max_tokens', stop_sequence: null }
}

function messageUsage({ inputTokens }: Completion, output: number): Json {
  return {
    input_tokens: inputTokens,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: 0,
    output_tokens: output,
  }
}
