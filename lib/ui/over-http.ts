// The page's server behind node:http, as the admin interface has it.

import type { IncomingMessage, ServerResponse } from 'node:http'
import { streamEvents } from '../base/response-out.ts'
import { problem } from './answers.ts'
import type { Answer, Ask } from './ask.ts'
import { PACE } from './pace.ts'
import type { UiService } from './service.ts'

/** False for a path that is not the page's. */
export function answerOverHttp(
  ui: UiService,
  request: IncomingMessage,
  response: ServerResponse,
  url: URL,
): boolean {
  const { method = '', headers } = request
  const { pathname: path, searchParams: query } = url
  const answer = told(ui, { method, path, query, ifNoneMatch: headers['if-none-match'] })
  if (answer === null) return false
  request.resume()
  send(response, answer, method)
  return true
}

/** A fault of ours is told as all else is. */
function told(ui: UiService, ask: Ask): Answer | null {
  try {
    return ui.answer(ask, 'admin')
  } catch (error) {
    return problem(500, error instanceof Error ? error.message : 'error')
  }
}

function send(response: ServerResponse, answer: Answer, method: string): void {
  if (answer.kind === 'whole') return sendWhole(response, answer)
  if (method !== 'HEAD') return streamEvents(response, PACE, answer.open)
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  response.end()
}

function sendWhole(
  response: ServerResponse,
  { status, fields, content }: Extract<Answer, { kind: 'whole' }>,
): void {
  const headers: Record<string, string | number> = Object.fromEntries(fields)
  if (status !== 304) headers['content-length'] = Buffer.byteLength(content)
  response.writeHead(status, headers)
  response.end(content)
}
