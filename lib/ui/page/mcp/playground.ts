// A place to try an MCP backend as a client sees it: connect, look at what there is, use it.

import { html, useMemo, useState } from '../view.ts'
import type { VNode } from '../view.ts'
import type { McpBackendView, Place } from '../../api.ts'
import { ownUrl } from '../api.ts'
import type { Way } from './client.ts'
import type { Item, Offer } from './listed.ts'
import { NO_TOKEN } from './token.ts'
import type { Token } from './token.ts'
import { usePlayground } from './use-playground.ts'
import type { Link } from './use-playground.ts'
import { Empty } from '../parts/loading.ts'
import { Connect } from './connect.ts'
import { ItemView } from './item.ts'
import { isSame, Items, nameOf } from './items.ts'
import { ServerLog } from './heard.ts'

interface Props {
  readonly backend: McpBackendView
  readonly place: Place
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

function Session({ backend, place }: Props): VNode {
  const way = useMemo(() => wayTo(backend, place), [backend.key, backend.path, place])
  const playground = usePlayground(way)
  const [token, setToken] = useState<Token>(NO_TOKEN)
  const { link, offer } = playground
  return html`
    <section class="playground card" aria-label="Playground">
      <${Connect}
        backend=${backend}
        place=${place}
        playground=${playground}
        token=${token}
        setToken=${setToken}
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

interface Chosen {
  readonly item: Item
  readonly start: 'wait' | 'at once'
  /** Two readings of one resource are two. */
  readonly turn: number
}

/** What there is on the left, what was chosen of it on the right. */
function Bench(props: {
  readonly backend: McpBackendView
  readonly link: Extract<Link, { state: 'open' }>
  readonly offer: Offer
  readonly authorization: 'token' | 'none'
}): VNode {
  const { backend, link, offer, authorization } = props
  const [chosen, setChosen] = useState<Chosen | null>(null)
  const choose = (item: Item, start: Chosen['start'] = 'wait'): void =>
    setChosen((before) => ({ item, start, turn: (before?.turn ?? 0) + 1 }))
  const read = (uri: string): void =>
    choose({ kind: 'resource', uri, name: uri, title: '', description: '', type: '' }, 'at once')
  const all: readonly Item[] = [...offer.tools, ...offer.prompts, ...offer.resources]
  // What was changed by the server is shown as it is now.
  const current =
    chosen === null ? null : (all.find((one) => isSame(one, chosen.item)) ?? chosen.item)
  return html`
    <div class="bench">
      <${Items} offer=${offer} chosen=${current} choose=${choose} />
      ${
        chosen === null || current === null
          ? html`<p class="dim hollow">Choose a tool, a prompt or a resource.</p>`
          : html`
              <${ItemView}
                key=${`${chosen.turn} ${nameOf(current)}`}
                item=${current}
                start=${chosen.start}
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
function wayTo({ key, path }: McpBackendView, place: Place): Way {
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
