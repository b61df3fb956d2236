import { createServer } from 'node:http'
import type { RequestListener, Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { createFetcher, MAX_DOCUMENT_BYTES } from '../../lib/http/fetch-document.ts'
import type { FetchedDocument, DocumentFetchOptions } from '../../lib/http/fetch-document.ts'
import { deadline } from '../support/deadline.ts'
import { Stage } from '../support/gateway.ts'

const fetching = suite('fetch document')
const stage = new Stage()
fetching.after.each(() => stage.clear())

async function serve(handler: RequestListener): Promise<string> {
  const server: Server = createServer(handler)
  server.unref()
  stage.add({
    close: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  })
  const listening = new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  await deadline(listening, 30_000, 'a server')
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
}

async function get(url: string, options?: DocumentFetchOptions): Promise<FetchedDocument> {
  const { fetch, close } = createFetcher()
  stage.add({ close })
  return deadline(fetch(url, options), 30_000, 'a response')
}

async function failure(url: string, options?: DocumentFetchOptions): Promise<string> {
  return get(url, options).then(
    () => 'none',
    (error: unknown) => String(error),
  )
}

fetching('returns status, headers and text for any status', async () => {
  const url = await serve((_request, response) =>
    response.writeHead(418, { 'x-a': 'b' }).end('grüße'),
  )
  const { status, headers, text } = await get(url)
  assert.equal([status, headers['x-a'], text()], [418, 'b', 'grüße'])
})

fetching('sends the given method, headers and body', async () => {
  const url = await serve((request, response) => {
    const parts: Buffer[] = []
    request.on('data', (part: Buffer) => parts.push(part))
    request.on('end', () =>
      response.end([request.method, request.headers['x-a'], ...parts.map(String)].join(' ')),
    )
  })
  const options = { method: 'POST', headers: { 'x-a': 'b' }, body: 'c=d' } as const
  assert.is((await get(url, options)).text(), 'POST b c=d')
})

fetching('follows no redirect', async () => {
  const url = await serve((_request, response) =>
    response.writeHead(302, { location: 'http://127.0.0.1:9/' }).end(),
  )
  assert.is((await get(url)).status, 302)
})

fetching('refuses a document that is too large', async () => {
  const whole = await serve((_request, response) => response.end('x'.repeat(MAX_DOCUMENT_BYTES)))
  assert.is((await get(whole)).text().length, MAX_DOCUMENT_BYTES)
  const endless = await serve((_request, response) => {
    const more = (): void => {
      while (response.write('x'.repeat(65_536)));
      response.once('drain', more)
    }
    more()
  })
  assert.match(await failure(endless), `more than ${MAX_DOCUMENT_BYTES} bytes`)
})

fetching('stops waiting for a server that is silent, or stops in the middle', async () => {
  const silent = await serve(() => {})
  assert.match(await failure(silent, { timeout: 30 }), /timeout/i)
  const halting = await serve((_request, response) => response.write('half'))
  assert.match(await failure(halting, { timeout: 30 }), /timeout/i)
  const cut = await serve((_request, response) => {
    response.writeHead(200, { 'content-length': '100' }).write('half')
    response.socket?.destroy()
  })
  assert.is.not(await failure(cut), 'none')
})

fetching.run()
