// One session of the playground, from the first word to the last: the client, what the server offers and what it says.

import { useEffect, useRef, useState } from '../view.ts'
import { McpClient } from './client.ts'
import type { Way } from './client.ts'
import { offerOf } from './listed.ts'
import type { Offer } from './listed.ts'
import { HttpFault, membersOf, textOf } from './messages.ts'
import type { Members } from './messages.ts'

export interface Greeting {
  readonly name: string
  readonly version: string
  readonly protocol: string
  readonly instructions: string
  readonly capabilities: Members
}

export type Link =
  | { readonly state: 'off' }
  | { readonly state: 'connecting' }
  | { readonly state: 'open'; readonly client: McpClient; readonly greeting: Greeting }
  | { readonly state: 'failed'; readonly error: string; readonly status: number }

/** Something the server said that nobody asked for. */
export interface Said {
  readonly number: number
  readonly at: number
  readonly level: string
  readonly source: string
  readonly data: unknown
}

export interface Playground {
  readonly link: Link
  readonly offer: Offer | null
  readonly said: readonly Said[]
  readonly connect: (token: string) => void
  readonly disconnect: () => void
  readonly clear: () => void
}

/** The newest are kept. */
const MAX_SAID = 200

export function usePlayground(way: Way): Playground {
  const [link, setLink] = useState<Link>({ state: 'off' })
  const [offer, setOffer] = useState<Offer | null>(null)
  const { said, say, clear } = useSaid()
  const client = useRef<McpClient | null>(null)
  const able = useRef<Members>({})
  const look = async (at: McpClient): Promise<void> => {
    const ask = (method: string, params: Members): Promise<Members> => at.request(method, params)
    const found = await offerOf(ask, able.current)
    if (client.current === at) setOffer(found)
  }
  const disconnect = (): void => {
    client.current?.close()
    client.current = null
    setLink({ state: 'off' })
    setOffer(null)
  }
  const connect = (token: string): void => {
    client.current?.close()
    const fresh = new McpClient({
      way,
      token,
      hear: (method, params) => {
        if (client.current !== fresh) return
        if (method === 'notifications/message')
          return say(textOf(params['level']) || 'info', textOf(params['logger']), params['data'])
        say('notice', method, params)
        if (method.endsWith('/list_changed')) void look(fresh)
      },
      begun: () => say('notice', 'playground', 'the session had ended: a new one was begun'),
    })
    client.current = fresh
    setLink({ state: 'connecting' })
    setOffer(null)
    fresh.connect().then(
      async (answer) => {
        if (client.current !== fresh) return fresh.close()
        const greeting = greetingOf(answer)
        setLink({ state: 'open', client: fresh, greeting })
        able.current = greeting.capabilities
        await look(fresh)
      },
      (error: unknown) => {
        if (client.current !== fresh) return
        const status = error instanceof HttpFault ? error.status : 0
        setLink({ state: 'failed', error: wordsOf(error), status })
      },
    )
  }
  useEffect(() => {
    addEventListener('pagehide', disconnect)
    return () => {
      removeEventListener('pagehide', disconnect)
      client.current?.close()
      client.current = null
    }
  }, [])
  return { link, offer, said, connect, disconnect, clear }
}

interface Saying {
  readonly said: readonly Said[]
  readonly say: (level: string, source: string, data: unknown) => void
  readonly clear: () => void
}

function useSaid(): Saying {
  const [said, setSaid] = useState<readonly Said[]>([])
  const count = useRef(0)
  const say: Saying['say'] = (level, source, data) => {
    const one = { number: ++count.current, at: Date.now(), level, source, data }
    setSaid((before) => [...before.slice(1 - MAX_SAID), one])
  }
  return { said, say, clear: () => setSaid([]) }
}

function greetingOf(answer: Members): Greeting {
  const server = membersOf(answer['serverInfo']) ?? {}
  return {
    name: textOf(server['title']) || textOf(server['name']) || 'a server without a name',
    version: textOf(server['version']),
    protocol: textOf(answer['protocolVersion']),
    instructions: textOf(answer['instructions']),
    capabilities: membersOf(answer['capabilities']) ?? {},
  }
}

function wordsOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
