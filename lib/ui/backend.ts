// The page on a gateway's listener: answered in this process, like a backend that is always there.

import type { Exchange } from '../base/exchange.ts'
import { hostOf, isLoopback } from '../base/places/loopback.ts'
import { otherSiteRefusal } from '../base/places/other-sites.ts'
import type { BrowserField } from '../base/places/other-sites.ts'
import { UI_ENDPOINT, UI_PATH } from '../base/places/ui-paths.ts'
import { headOf, replyOf } from '../base/reply.ts'
import { EVENT_FIELDS } from '../base/sse/event-out.ts'
import { USUAL_PACE } from '../base/sse/kept-out.ts'
import type { Attempt, Backend, Reply } from '../base/types.ts'
import type { RequestHead } from '../base/wire/head.ts'
import { problem } from './answers.ts'
import type { Place } from './api.ts'
import type { Answer, Ask, Fields } from './ask.ts'
import { EventBody } from './event-body.ts'

/** A browser would keep it for good otherwise. */
const TO_PAGE: Fields = [
  ['location', UI_PATH],
  ['cache-control', 'no-store'],
]

/** The page's server, here or in another process. Null for a path that is not one of its own. */
export interface Pages {
  answer(ask: Ask, place: Place): Answer | null | Promise<Answer>
}

/** `loopback`: a web page could reach it by a name of its own that it points there, and nobody is asked who they are. */
export type Hosts = 'any' | 'loopback'

/** Which pages may ask, besides its own. */
export interface Door {
  readonly hosts: Hosts
  /** Origins that the configuration lets read it. */
  readonly letsIn: (origin: string) => boolean
}

const FOREIGN =
  'forbidden: the web UI answers to loopback names only here, as long as there is no credential with mode: strict in ui.policies and no hostname of the listener'

export class UiBackend implements Backend {
  readonly endpoint = UI_ENDPOINT
  readonly #ui: () => Pages
  readonly #door: Door

  constructor(ui: () => Pages, door: Door) {
    this.#ui = ui
    this.#door = door
  }

  call({ request }: Exchange, attempt: Attempt): void {
    const { method, path, query } = request
    const refusal = refusalOf(request, this.#door)
    if (refusal !== null) return attempt.answer(replyTo(problem(403, refusal)))
    if (path === '/') return attempt.answer(replyOf(308, TO_PAGE))
    const ifNoneMatch = request.all('if-none-match').join(', ') || undefined
    const ask = { method, path, query: new URLSearchParams(query), ifNoneMatch }
    const answer = this.#ui().answer(ask, 'listener')
    if (answer instanceof Promise) void answer.then((told) => attempt.answer(replyTo(told)))
    else attempt.answer(replyTo(answer ?? problem(404, 'not found')))
  }
}

function refusalOf(request: RequestHead, { hosts, letsIn }: Door): string | null {
  const { method, path, authority } = request
  if (hosts === 'loopback' && !isLoopback(hostOf(authority))) return FOREIGN
  const field = (name: BrowserField): string | undefined => {
    const all = request.all(name)
    return all.length === 0 ? undefined : all.join(', ')
  }
  const origin = field('origin')
  if (origin !== undefined && letsIn(origin)) return null
  return otherSiteRefusal({ method, path, field }, 'the web UI', (one) =>
    isSameHost(one, authority),
  )
}

/** Whatever their schemes: somebody in front may speak TLS for the listener. */
function isSameHost(origin: string, authority: string): boolean {
  if (!URL.canParse(origin)) return false
  const { protocol, host } = new URL(origin)
  const own = `${protocol}//${authority}`
  return host !== '' && URL.canParse(own) && new URL(own).host === host
}

function replyTo(answer: Answer): Reply {
  if (answer.kind === 'whole') return replyOf(answer.status, answer.fields, answer.content)
  const head = headOf(200, [...EVENT_FIELDS, ['date', new Date().toUTCString()]])
  return { head, body: new EventBody(answer.open, USUAL_PACE), tunnel: null }
}
