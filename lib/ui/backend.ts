// The page on a gateway's listener: answered in this process, like a backend that is always there.

import type { Exchange } from '../base/exchange.ts'
import { hostOf, isLoopback } from '../base/loopback.ts'
import { headOf, replyOf } from '../base/reply.ts'
import type { Attempt, Backend, Reply } from '../base/types.ts'
import { UI_PATH } from '../base/ui-paths.ts'
import { problem } from './answers.ts'
import type { Answer, Fields } from './ask.ts'
import { EventBody } from './event-body.ts'
import { PACE } from './pace.ts'
import type { UiService } from './service.ts'

/** A browser would keep it for good otherwise. */
const TO_PAGE: Fields = [
  ['location', UI_PATH],
  ['cache-control', 'no-store'],
]

/** `loopback`: a web page could reach it by a name of its own that it points there, and nobody is asked who they are. */
export type Hosts = 'any' | 'loopback'

const FOREIGN =
  'forbidden: the web UI answers to loopback names only here, as long as ui.policies do not say who may see it'

export class UiBackend implements Backend {
  readonly endpoint = 'ui'
  readonly #ui: () => UiService
  readonly #hosts: Hosts

  constructor(ui: () => UiService, hosts: Hosts) {
    this.#ui = ui
    this.#hosts = hosts
  }

  call({ request }: Exchange, attempt: Attempt): void {
    const { method, path, query, authority } = request
    if (this.#hosts === 'loopback' && !isLoopback(hostOf(authority)))
      return attempt.answer(replyTo(problem(403, FOREIGN)))
    if (path === '/') return attempt.answer(replyOf(308, TO_PAGE))
    const ifNoneMatch = request.all('if-none-match').join(', ') || undefined
    const ask = { method, path, query: new URLSearchParams(query), ifNoneMatch }
    attempt.answer(replyTo(this.#ui().answer(ask, 'listener') ?? problem(404, 'not found')))
  }
}

function replyTo(answer: Answer): Reply {
  if (answer.kind === 'whole') return replyOf(answer.status, answer.fields, answer.content)
  const head = headOf(200, [
    ['content-type', 'text/event-stream'],
    ['cache-control', 'no-cache'],
    ['x-content-type-options', 'nosniff'],
    ['date', new Date().toUTCString()],
  ])
  return { head, body: new EventBody(answer.open, PACE), tunnel: null }
}
