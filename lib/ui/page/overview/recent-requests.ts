// The last requests, the newest first, each in words; one that is opened says what to do. The list stands still while
// somebody is at it.

import { html, useEffect, useState } from '../view.ts'
import type { VNode } from '../view.ts'
import { explain, gistOf, shortRoute } from '../parts/requests.ts'
import type { SeenRequest } from '../parts/requests.ts'
import { Badge, toneOfStatus } from '../parts/badge.ts'
import { RequestDetail } from './request-detail.ts'
import { clockText, tookText } from '../parts/words.ts'

const COLUMNS = [
  ['Time', 'time'],
  ['Status', 'status-cell'],
  ['Method', 'method'],
  ['Path', 'path'],
  ['Route', 'route'],
  ['What happened', 'words'],
  ['Took', 'took number'],
] as const

/** Why the list stands still: somebody points at it, goes through it by keys, has opened a request, or said so. */
type Hold = 'pointer' | 'keys' | 'opened' | 'asked'

export function RecentRequests(props: { readonly requests: readonly SeenRequest[] }): VNode {
  const { requests } = props
  const { shown, newer, holds, hold, release } = useHeld(requests)
  const [open, setOpen] = useState<number | null>(null)
  const toggle = (number: number): void => {
    const isClosed = open === number
    setOpen(isClosed ? null : number)
    if (isClosed) release('opened')
    else hold('opened')
  }
  const resume = (): void => {
    setOpen(null)
    release('asked', 'opened', 'keys')
  }
  const isPaused = holds.has('asked') || holds.has('opened')
  return html`
    <div>
      <div class="row list-state">
        <span class="dim" role="status">
          ${holds.size === 0 ? `the last ${shown.length}` : `standing still, ${newer} newer`}
        </span>
        <button type="button" onClick=${() => (isPaused ? resume() : hold('asked'))}>
          ${isPaused ? 'Resume' : 'Pause'}
        </button>
      </div>
      <table class="requests" role="table">
        <thead role="rowgroup">
          <tr role="row">
            ${COLUMNS.map(
              ([name, style]) => html`
                <th role="columnheader" scope="col" class=${style}>${name}</th>
              `,
            )}
          </tr>
        </thead>
        <tbody
          role="rowgroup"
          onPointerEnter=${({ pointerType }: PointerEvent) =>
            pointerType === 'mouse' && hold('pointer')}
          onPointerLeave=${() => release('pointer')}
          onFocusIn=${(event: FocusEvent) => byKeys(event) && hold('keys')}
          onFocusOut=${() => release('keys')}
        >
          ${shown.map(
            (request) => html`
              <${Row}
                key=${request.number}
                request=${request}
                isOpen=${request.number === open}
                toggle=${toggle}
              />
            `,
          )}
        </tbody>
      </table>
    </div>
  `
}

function byKeys({ target }: FocusEvent): boolean {
  return (target as Element).matches(':focus-visible')
}

function useHeld(requests: readonly SeenRequest[]): {
  readonly shown: readonly SeenRequest[]
  /** As far as they are kept: `50+`. */
  readonly newer: string
  readonly holds: ReadonlySet<Hold>
  readonly hold: (why: Hold) => void
  readonly release: (...whys: readonly Hold[]) => void
} {
  const [holds, setHolds] = useState<ReadonlySet<Hold>>(new Set())
  const [held, setHeld] = useState(requests)
  const isLive = holds.size === 0
  useEffect(() => {
    if (isLive) setHeld(requests)
  }, [isLive, requests])
  const shown = isLive ? requests : held
  const top = shown[0]?.number ?? 0
  const newer = requests.filter(({ number }) => number > top).length
  return {
    shown,
    newer: newer < requests.length ? String(newer) : `${newer}+`,
    holds,
    hold: (why) => setHolds((was) => new Set([...was, why])),
    release: (...whys) => setHolds((was) => new Set([...was].filter((one) => !whys.includes(one)))),
  }
}

function Row(props: {
  readonly request: SeenRequest
  readonly isOpen: boolean
  readonly toggle: (number: number) => void
}): VNode {
  const { request, isOpen, toggle } = props
  const { number, at, method, path, route, status, duration } = request
  const reason = explain(request)
  const words = reason === null ? gistOf(request) : reason.words
  const tone = reason === null ? toneOfStatus(status) : toneOfStatus(Math.max(status, 400))
  return html`
    <tr role="row" class=${`request ${isOpen ? 'open' : ''}`} onClick=${() => toggle(number)}>
      <td role="cell" class="time">
        <button
          type="button"
          class="plain"
          aria-expanded=${isOpen}
          aria-label=${`${clockText(at)} ${method} ${path} ${status}`}
          onClick=${(event: Event) => {
            event.stopPropagation()
            toggle(number)
          }}
        >
          ${clockText(at)}
        </button>
      </td>
      <td role="cell" class="status-cell">
        <${Badge} tone=${tone}>${status === 0 ? 'none' : status}<//>
      </td>
      <td role="cell" class="method mono">${method}</td>
      <td role="cell" class="path mono" title=${path}>${path}</td>
      <td role="cell" class="route" title=${route}>${shortRoute(route)}</td>
      <td role="cell" class=${`words ${reason === null ? 'dim' : ''}`} title=${words}>${words}</td>
      <td role="cell" class="took number">${tookText(duration)}</td>
    </tr>
    ${
      isOpen &&
      html`
        <tr role="row" class="opened">
          <td role="cell" colspan=${COLUMNS.length}><${RequestDetail} request=${request} /></td>
        </tr>
      `
    }
  `
}
