// A provider that repeats the prompt in the dialects that the built-in mock does not have: completions, responses and embeddings.

import { answers } from '../llm-backend.ts'
import type { LlmAnswer, LlmRequest } from '../llm-backend.ts'

const DIMENSIONS = 8

interface Echo {
  /** Each is one token. */
  readonly words: readonly string[]
  readonly text: string
  readonly input: number
}

/** Answers each complete request by the end of its path. */
export const echoAnswer: LlmAnswer = (request, response) => {
  void request.whole().then(() => answerTo(request)(request, response))
}

function answerTo({ target, json }: LlmRequest): LlmAnswer {
  const isStream = json['stream'] === true
  if (target.endsWith('/embeddings')) return answers.json(embeddingsOf(json['input']))
  if (target.endsWith('/responses')) {
    const echo = echoOf(promptOf(json['input']))
    return isStream
      ? answers.events(responseEvents(echo))
      : answers.json(responseOf(echo, 'completed'))
  }
  const echo = echoOf(String(json['prompt']))
  return isStream ? answers.events(completionEvents(echo)) : answers.json(completionOf(echo))
}

/** `input` is a text, or messages with texts in their content. */
function promptOf(input: unknown): string {
  if (typeof input === 'string') return input
  const { content } = (input as { content: string | { text: string }[] }[]).at(-1)!
  return typeof content === 'string' ? content : content.map(({ text }) => text).join(' ')
}

function echoOf(prompt: string): Echo {
  const text = `You said: ${prompt}`
  const words = text.split(/(?= )/)
  return { words, text, input: Math.ceil(prompt.length / 4) }
}

const COMPLETION = { id: 'cmpl-1', object: 'text_completion', created: 1, model: 'mock' }

function completionOf({ text, words, input }: Echo): unknown {
  const choice = { text, index: 0, logprobs: null, finish_reason: 'stop' }
  return { ...COMPLETION, choices: [choice], usage: completionUsage(input, words.length) }
}

/** The gateway asks for usage: the last chunk has it. */
function completionEvents({ words, input }: Echo): string[] {
  const choice = { index: 0, logprobs: null, finish_reason: null }
  const chunks = words.map((text) => ({ ...COMPLETION, choices: [{ ...choice, text }] }))
  const usage = completionUsage(input, words.length)
  const events = [...chunks, { ...COMPLETION, choices: [], usage }]
  return [...events.map((event) => `data: ${JSON.stringify(event)}\n\n`), 'data: [DONE]\n\n']
}

function completionUsage(input: number, output: number): unknown {
  return { prompt_tokens: input, completion_tokens: output, total_tokens: input + output }
}

function responseOf(echo: Echo, status: 'in_progress' | 'completed'): Record<string, unknown> {
  const { words, input } = echo
  const usage = {
    input_tokens: input,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: words.length,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: input + words.length,
  }
  const isOver = status === 'completed'
  return {
    id: 'resp_1',
    object: 'response',
    created_at: 1,
    status,
    error: null,
    incomplete_details: null,
    model: 'mock',
    output: isOver ? [itemOf(echo, status)] : [],
    parallel_tool_calls: true,
    tool_choice: 'auto',
    tools: [],
    usage: isOver ? usage : null,
  }
}

function itemOf({ text }: Echo, status: 'in_progress' | 'completed'): unknown {
  const content = status === 'completed' ? [partOf(text)] : []
  return { id: 'msg_1', type: 'message', status, content, role: 'assistant' }
}

function partOf(text: string): unknown {
  return { type: 'output_text', annotations: [], logprobs: [], text }
}

function responseEvents(echo: Echo): string[] {
  const place = { item_id: 'msg_1', output_index: 0, content_index: 0 }
  const part = partOf(echo.text)
  const events = [
    { type: 'response.created', response: responseOf(echo, 'in_progress') },
    { type: 'response.output_item.added', output_index: 0, item: itemOf(echo, 'in_progress') },
    { type: 'response.content_part.added', ...place, part: partOf('') },
    ...echo.words.map((delta) => ({
      type: 'response.output_text.delta',
      ...place,
      delta,
      logprobs: [],
    })),
    { type: 'response.output_text.done', ...place, text: echo.text, logprobs: [] },
    { type: 'response.content_part.done', ...place, part },
    { type: 'response.output_item.done', output_index: 0, item: itemOf(echo, 'completed') },
    { type: 'response.completed', response: responseOf(echo, 'completed') },
  ]
  return events.map(
    ({ type, ...rest }, index) =>
      `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: index, ...rest })}\n\n`,
  )
}

/** SDKs ask for base64; numbers are accepted as well. */
function embeddingsOf(input: unknown): unknown {
  const texts = [input].flat() as string[]
  const embedding = Array.from({ length: DIMENSIONS }, (_, index) => index / DIMENSIONS)
  const data = texts.map((_text, index) => ({ object: 'embedding', index, embedding }))
  const tokens = Math.ceil(texts.join('').length / 4)
  return {
    object: 'list',
    data,
    model: 'mock',
    usage: { prompt_tokens: tokens, total_tokens: tokens },
  }
}
