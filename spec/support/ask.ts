// One request to a gateway on its own connection, and the parsed response.

import { RawClient } from './raw-client.ts'

export interface Answer {
  readonly status: number
  /** By name in lower case; several values are joined by a line feed. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** The request line and fields; Host and Connection are added. */
export async function ask({ port }: { port: number }, ...lines: string[]): Promise<Answer> {
  const client = await RawClient.connect(port)
  try {
    client.send([...lines, 'host: a', 'connection: close', '', ''].join('\r\n'))
    return answerOf(await client.untilClosed())
  } finally {
    client.destroy()
  }
}

function answerOf(text: string): Answer {
  const at = text.indexOf('\r\n\r\n')
  const [first = '', ...fields] = text.slice(0, at).split('\r\n')
  const headers: Record<string, string> = {}
  for (const field of fields) {
    const name = field.slice(0, field.indexOf(':')).toLowerCase()
    const value = field.slice(field.indexOf(':') + 1).trim()
    headers[name] = headers[name] === undefined ? value : `${headers[name]}\n${value}`
  }
  return { status: Number(first.split(' ')[1]), headers, body: text.slice(at + 4) }
}
