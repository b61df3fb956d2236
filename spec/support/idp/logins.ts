// Complete logins of SDK clients at a protected MCP server, from the 401 to the tools.

import {
  Client as ClientV2,
  StreamableHTTPClientTransport as TransportV2,
  UnauthorizedError as UnauthorizedV2,
} from '@modelcontextprotocol/client'
import { UnauthorizedError as UnauthorizedV1 } from '@modelcontextprotocol/sdk/client/auth.js'
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as TransportV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import { deadline } from '../deadline.ts'
import { Wallet } from './wallet.ts'
import type { Browse } from './wallet.ts'

const WAIT_MS = 30_000
const NAME = { name: 'judge', version: '1' }

/** A client with a session. */
export interface LoggedIn {
  readonly wallet: Wallet
  tools(): Promise<string[]>
  echo(text: string): Promise<string>
  close(): Promise<void>
}

/** Continues with the wallet of earlier logins, if given. */
export type LogIn = (url: URL, browse: Browse, wallet?: Wallet) => Promise<LoggedIn>

export const logInV1: LogIn = async (url, browse, wallet = new Wallet(browse)) => {
  const connect = async (): Promise<ClientV1> => {
    const transport = new TransportV1(url, { authProvider: wallet })
    const client = new ClientV1(NAME)
    try {
      // The SDK sets optional members to undefined, which its own interface does not allow.
      await client.connect(transport as Transport)
    } catch (error) {
      if (!(error instanceof UnauthorizedV1)) throw error
      await transport.finishAuth(wallet.code)
      await client.connect(new TransportV1(url, { authProvider: wallet }) as Transport)
    }
    return client
  }
  const client = await deadline(connect(), WAIT_MS, 'a login with SDK v1')
  return loggedIn(client, wallet)
}

/** `whole` passes all parameters of the callback, as the SDK recommends; `code` only the code, as older clients do. */
export function logInV2(passed: 'whole' | 'code'): LogIn {
  return async (url, browse, wallet = new Wallet(browse)) => {
    const connect = async (): Promise<ClientV2> => {
      const transport = new TransportV2(url, { authProvider: wallet })
      const client = new ClientV2(NAME)
      try {
        await client.connect(transport)
      } catch (error) {
        if (!(error instanceof UnauthorizedV2)) throw error
        if (passed === 'whole') await transport.finishAuth(wallet.callback!)
        else await transport.finishAuth(wallet.code)
        await client.connect(new TransportV2(url, { authProvider: wallet }))
      }
      return client
    }
    return loggedIn(await deadline(connect(), WAIT_MS, 'a login with client v2'), wallet)
  }
}

interface ToolClient {
  listTools(): Promise<{ tools: { name: string }[] }>
  callTool(call: { name: string; arguments: { text: string } }): Promise<object>
  close(): Promise<void>
}

function loggedIn(client: ToolClient, wallet: Wallet): LoggedIn {
  return {
    wallet,
    tools: async () => {
      const { tools } = await deadline(client.listTools(), WAIT_MS, 'the tools')
      return tools.map(({ name }) => name)
    },
    echo: async (text) => {
      const called = client.callTool({ name: 'echo', arguments: { text } })
      const { content } = (await deadline(called, WAIT_MS, 'an echo')) as {
        content: { text: string }[]
      }
      return content.map((part) => part.text).join('')
    },
    close: () => deadline(client.close(), WAIT_MS, 'the client to close'),
  }
}
