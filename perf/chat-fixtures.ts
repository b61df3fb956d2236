// The bytes of the LLM measures: one chat request, and its responses in the dialect of OpenAI.
// spec/perf/chat-fixtures.spec.ts checks them.

/** The model that clients request; the gateway requests another one, so that each body is edited. */
export const MODEL_ALIAS = 'fast'
export const MODEL = 'gpt-4o-mini'

const STAMP_DIGITS = 16
const QUESTION =
  'A proxy sits between a client and a provider of language models. It reads the request as it passes, ' +
  'charges a budget, edits a field or two and relays the answer chunk by chunk. '
const QUESTION_TIMES = 11

/** About 2 KB. A streaming client does not ask for usage. */
function chatBody(isStream: boolean): string {
  return JSON.stringify({
    model: MODEL_ALIAS,
    ...(isStream ? { stream: true } : {}),
    temperature: 0.2,
    max_tokens: 256,
    messages: [
      { role: 'system', content: 'You answer in one sentence.' },
      { role: 'user', content: QUESTION.repeat(QUESTION_TIMES).trim() },
    ],
  })
}

export const CHAT_BODY = chatBody(false)
export const STREAM_BODY = chatBody(true)

const ID = 'chatcmpl-0123456789abcdef'
const USAGE = { prompt_tokens: 480, completion_tokens: 100, total_tokens: 580 }

/** A complete response, about 400 bytes. */
export const CHAT_ANSWER = JSON.stringify({
  id: ID,
  object: 'chat.completion',
  created: 1_700_000_000,
  model: MODEL,
  choices: [
    {
      index: 0,
      message: {
        role: 'assistant',
        content: 'It passes each chunk on in the tick in which it came.',
      },
      logprobs: null,
      finish_reason: 'stop',
    },
  ],
  usage: USAGE,
})

/** `t` is the time it was sent, as in the other streams. `usage` is null until the last chunk, if the client asked for it. */
const CHUNK_HEAD = `{"id":"${ID}","object":"chat.completion.chunk","created":1700000000,"model":"${MODEL}","t":"`
const CHUNK_TAIL =
  '","choices":[{"index":0,"delta":{"content":" token"},"finish_reason":null}],"usage":null}'
const CHUNK_SIZE = `data: ${CHUNK_HEAD}${CHUNK_TAIL}\n\n`.length + STAMP_DIGITS
const CHUNK_BEFORE = `${CHUNK_SIZE.toString(16)}\r\ndata: ${CHUNK_HEAD}`
const CHUNK_AFTER = `${CHUNK_TAIL}\n\n\r\n`

/** One HTTP chunk with one chunk of a chat. */
export function chatChunk(micros: number): string {
  return CHUNK_BEFORE + String(Math.floor(micros)).padStart(STAMP_DIGITS, '0') + CHUNK_AFTER
}

const BARE = { id: ID, object: 'chat.completion.chunk', created: 1_700_000_000, model: MODEL }
const STOP = { index: 0, delta: {}, finish_reason: 'stop' }

/** The end of a stream: the finish reason, the usage, the end mark, and the end of the body. */
export const CHAT_END =
  framed(`data: ${JSON.stringify({ ...BARE, choices: [STOP], usage: null })}\n\n`) +
  framed(`data: ${JSON.stringify({ ...BARE, choices: [], usage: USAGE })}\n\n`) +
  framed('data: [DONE]\n\n') +
  '0\r\n\r\n'

function framed(event: string): string {
  return `${event.length.toString(16)}\r\n${event}\r\n`
}

/** An opaque token; peers that verify tokens get a real one. */
const PLAIN_TOKEN = '0123456789abcdef0123456789abcdef'

/** The text of one request. `more` are complete header lines. */
export function chatRequest(target: string, body: string, more = '', token = PLAIN_TOKEN): string {
  return (
    `POST ${target} HTTP/1.1\r\nhost: bench.test\r\nuser-agent: perf\r\naccept: application/json\r\n` +
    `content-type: application/json\r\nauthorization: Bearer ${token}\r\n` +
    `x-user: perf\r\n${more}content-length: ${body.length}\r\n\r\n${body}`
  )
}

/** The targets by which a request selects the kind of response. */
export const CHAT_PATH = '/v1/chat/completions'
export const WHOLE_TARGET = `${CHAT_PATH}?answer=whole`
/** The same for peers that drop a query. */
export const WHOLE_BASE = '/whole'

export function pacedTarget(interval: number, chunks: number): string {
  return `${CHAT_PATH}?interval=${interval}&chunks=${chunks}`
}
