// A place to try an MCP backend as a client sees it: connect, look at what there is, use it.

import { html, useEffect, useMemo, useRef } from '../view.ts'
import type { VNode } from '../view.ts'
import type { McpBackendView, UiPlace } from '../../../admin/page-api/page-api-types.ts'
import { ownUrl } from '../api.ts'
import type { Way } from './client.ts'
import type { Item, Offer } from './listed.ts'
import type { Token } from './token.ts'
import { useHeld } from '../use-held.ts'
import type { LinkState } from '../live.ts'
import type { Desk, Link } from './desk.ts'
import { deskOf } from './desks.ts'
import { usePlayground } from './use-playground.ts'
import { Empty } from '../parts/loading.ts'
import { Connect } from './connect.ts'
import { ItemView } from './item.ts'
import { isSame, Items } from './items.ts'
import { ServerLog } from './heard.ts'

interface Props {
  readonly backend: McpBackendView
  readonly place: UiPlace
  /** Whether the gateway is there. */
  readonly gateway: LinkState
}

export function PlaygroundView(props: Props): VNode {
  const { backend, place } = props
  if (place === 'listener' && !isHere(backend))
    return html`
      <${Empty} title="The playground is elsewhere">
        <p>
          This page is served by another listener than this backend. Open it on the admin interface
          of the gateway to try it.
        </p>
      <//>
    `
  return html`<${Session} ...${props} />`
}

function Session({ backend, place, gateway }: Props): VNode {
  const way = useMemo(() => wayTo(backend, place), [backend.key, backend.path, place])
  const desk = useMemo(() => deskOf(backend.key), [backend.key])
  const playground = usePlayground(desk, way)
  const token = useHeld(desk.token)
  const { link, offer } = playground
  const section = useFocusAfter(link)
  return html`
    <section class="playground card" aria-label="Playground" ref=${section}>
      <${Connect}
        backend=${backend}
        place=${place}
        playground=${playground}
        token=${token}
        setToken=${(next: Token) => desk.token.set(next)}
        gateway=${gateway}
      />
      ${
        link.state === 'off' &&
        html`
          <p class="about">
            Begins a session as any MCP client does, with a process of its own for each stdio
            target. Policies, logs and traces see it as they see others.
            ${
              place === 'listener' &&
              backend.authentication !== null &&
              ' Signing in is possible on the admin interface; here a token can be pasted.'
            }
          </p>
        `
      }
      ${
        link.state === 'open' &&
        (offer === null
          ? html`<p class="about" role="status">Asking what there is…</p>`
          : html`
              <${Bench}
                backend=${backend}
                desk=${desk}
                link=${link}
                offer=${offer}
                authorization=${token.text === '' ? 'none' : 'token'}
              />
              <${ServerLog}
                said=${playground.said}
                clear=${playground.clear}
                client=${link.client}
                levels=${link.greeting.capabilities['logging'] === undefined ? 'fixed' : 'chosen'}
              />
            `)
      }
    </section>
  `
}

/** The button that ends a session is gone with it, and the focus too. */
function useFocusAfter({ state }: Link): { readonly current: HTMLElement | null } {
  const section = useRef<HTMLElement>(null)
  const before = useRef(state)
  useEffect(() => {
    if (before.current === 'open' && state === 'off')
      section.current?.querySelector<HTMLElement>('.connect .main')?.focus()
    before.current = state
  }, [state])
  return section
}

/** What there is on the left, what was chosen of it on the right. */
function Bench(props: {
  readonly backend: McpBackendView
  readonly desk: Desk
  readonly link: Extract<Link, { state: 'open' }>
  readonly offer: Offer
  readonly authorization: 'token' | 'none'
}): VNode {
  const { backend, desk, link, offer, authorization } = props
  const work = useHeld(desk.work)
  const read = (uri: string): void =>
    desk.choose({ kind: 'resource', uri, name: uri, title: '', description: '', type: '' })?.run({})
  const all: readonly Item[] = [...offer.tools, ...offer.prompts, ...offer.resources]
  // What was changed by the server is shown as it is now.
  const current = work === null ? null : (all.find((one) => isSame(one, work.item)) ?? work.item)
  return html`
    <div class="bench">
      <${Items} desk=${desk} offer=${offer} chosen=${current} />
      ${
        work === null || current === null
          ? html`<p class="dim hollow">Choose a tool, a prompt or a resource.</p>`
          : html`
              <${ItemView}
                key=${work.number}
                item=${current}
                work=${work}
                client=${link.client}
                backend=${backend}
                authorization=${authorization}
                read=${read}
              />
            `
      }
    </div>
  `
}

/** On the admin interface by its relay; on the backend's own listener directly. */
function wayTo({ key, path }: McpBackendView, place: UiPlace): Way {
  const query = new URLSearchParams({ backend: key, path })
  const url = place === 'admin' ? `/api/playground?${query.toString()}` : path
  return (method, { headers, body, signal }) =>
    fetch(ownUrl(url), {
      method,
      headers,
      cache: 'no-store',
      redirect: 'error',
      // The last word of a page that goes.
      keepalive: method === 'DELETE',
      ...(body === undefined ? {} : { body }),
      ...(signal === undefined ? {} : { signal }),
    })
}

function isHere({ port, protocol, hostname }: McpBackendView): boolean {
  const usual = location.protocol === 'https:' ? 443 : 80
  const isSamePort = (Number(location.port) || usual) === port
  const isSameScheme = location.protocol === `${protocol.toLowerCase()}:`
  return isSamePort && isSameScheme && (hostname === '' || hostname === location.hostname)
}
