// A reader of the web page: a program that reads all its data, or the page itself in a browser.
import { get, type ClientRequest } from 'node:http'
import { Chromium, type FoundChromium } from '../spec/support/browser.ts'

const LIVE = '/api/live?topics=runtime,logs,limits,mcp,config'
/** Both are requested repeatedly, more often than by the page. */
const AGAIN = ['/api/map', '/api/runtime']
const AGAIN_MS = 2_000
const OPEN_MS = 10_000

export type Closed = () => Promise<void>

/** Reads all live data, and the map now and then. */
export async function readAll(port: number): Promise<Closed> {
  const asked = new Set<ClientRequest>()
  const ask = (path: string, opened: () => void, failed: (error: Error) => void): void => {
    const request = get({ host: '127.0.0.1', port, path, agent: false }, (answer) => {
      if (answer.statusCode !== 200) failed(new Error(`${path}: ${answer.statusCode}`))
      answer.once('data', opened).on('close', () => asked.delete(request))
    })
    request.on('error', failed).setTimeout(OPEN_MS)
    asked.add(request)
  }
  const look = (): void =>
    AGAIN.forEach((path) =>
      ask(
        path,
        () => {},
        () => {},
      ),
    )
  await new Promise<void>((resolve, reject) => ask(LIVE, resolve, reject))
  look()
  const timer = setInterval(look, AGAIN_MS)
  return async () => {
    clearInterval(timer)
    for (const request of asked) request.destroy()
  }
}

/** The overview, with live data. */
export async function openPage(
  port: number,
  { path }: Extract<FoundChromium, { kind: 'found' }>,
): Promise<Closed> {
  const chromium = await Chromium.start(path)
  const page = await chromium.page()
  await page.goto(`http://127.0.0.1:${port}/ui`)
  await page.locator('.link.open').waitFor()
  return () => chromium.close()
}
