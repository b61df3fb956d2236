// The page's server behind node:http, as the admin interface has it.

import type { ServerResponse } from 'node:http'
import type { Fallback } from '../base/endpoints.ts'
import { EVENT_FIELDS } from '../base/sse/event-out.ts'
import { USUAL_PACE } from '../base/sse/kept-out.ts'
import { streamEvents } from '../base/sse/response-out.ts'
import { problem } from './answers.ts'
import type { Place } from './api.ts'
import type { Answer, Fields } from './ask.ts'
import type { UiService } from './service.ts'

/** `troubled` is told of a fault of ours; who asked hears no more than that there was one. */
export function uiOverHttp(
  ui: UiService,
  troubled: (error: unknown) => void,
  place: Place = 'admin',
): Fallback {
  return (request, response, { pathname: path, searchParams: query }) => {
    const { method = '', headers } = request
    try {
      const answer = ui.answer(
        { method, path, query, ifNoneMatch: headers['if-none-match'] },
        place,
      )
      if (answer === null) return false
      request.resume()
      send(response, answer, method)
    } catch (error) {
      troubled(error)
      if (response.headersSent) response.destroy()
      else send(response, problem(500, 'internal error'), method)
    }
    return true
  }
}

function send(response: ServerResponse, answer: Answer, method: string): void {
  if (answer.kind === 'whole') return sendWhole(response, answer)
  if (method !== 'HEAD') return streamEvents(response, USUAL_PACE, answer.open)
  response.writeHead(200, headersOf(EVENT_FIELDS))
  response.end()
}

function sendWhole(
  response: ServerResponse,
  { status, fields, content }: Extract<Answer, { kind: 'whole' }>,
): void {
  const headers = headersOf(fields)
  if (status !== 304) headers['content-length'] = Buffer.byteLength(content)
  response.writeHead(status, headers)
  response.end(content)
}

function headersOf(fields: Fields): Record<string, string | number> {
  return Object.fromEntries(fields)
}
