// A hostile page in a real browser: it tries every way to read the admin ports and the web UI on a listener, to change the
// log level and to stop the process. Pages that a user opens are still shown.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { freePort } from '../../../conformance/gateway-process.ts'
import { Chromium, findChromium } from '../../support/browser.ts'
import { deadline } from '../../support/deadline.ts'
import { Stage } from '../../support/gateway.ts'
import { until } from '../../support/idp/until.ts'
import { Program } from '../../support/program.ts'
import { ROOT } from '../../support/root.ts'
import { RebindingServer } from '../../support/rebinding-server.ts'
import { reportSkip } from '../../support/report-skip.ts'
import { mainScript } from '../../support/ui/page-files.ts'

const WAIT_MS = 40_000

const judge = suite('a hostile page')
const stage = new Stage()
judge.after.each(() => stage.clear())

/** By port: the paths to read, and the paths with side effects. */
type Targets = Readonly<Partial<Record<Place, Readonly<Record<'reads' | 'writes', string[]>>>>>
type Place = 'admin' | 'stats' | 'readiness' | 'listener'

const ALL: Targets = {
  admin: {
    reads: ['/', '/ui', '/config_dump', '/debug/trace', '/memory', '/debug/tasks', '/logging'],
    writes: ['/quitquitquit', '/logging?level=trace', '/debug/trace'],
  },
  stats: { reads: ['/metrics'], writes: [] },
  readiness: { reads: ['/healthz/ready'], writes: [] },
  listener: {
    reads: ['/ui', mainScript(), '/api/config', '/api/trace', '/api/live?topics=config'],
    writes: ['/api/trace'],
  },
}

/** Fewer paths, for attacks that differ only in the origin of the page: a browser is slow. */
const SOME: Targets = {
  admin: { reads: ['/ui', '/config_dump'], writes: ['/quitquitquit'] },
  listener: { reads: ['/api/trace'], writes: [] },
}

interface Running {
  readonly ports: Readonly<Record<Place, number>>
  readonly program: Program
  readonly chromium: Chromium
}

const HOSTILE = readFileSync(join(ROOT, 'spec/judges/browser/hostile-page.html'), 'utf8')

/** The hostile page; `/sandboxed` serves it with an opaque origin, `/to?url` redirects to the URL. */
function hostile(path: string): string {
  const to = /^\/to\?(.*)/.exec(path)?.[1]
  if (to !== undefined)
    return `HTTP/1.1 302 Found\r\nlocation: ${to}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n`
  const policy = 'content-security-policy: sandbox allow-scripts allow-forms allow-popups\r\n'
  const rest = path === '/sandboxed' ? policy : ''
  return `HTTP/1.1 200 OK\r\ncontent-type: text/html\r\nconnection: close\r\n${rest}\r\n${HOSTILE}`
}

/** `evil.test` is a name of the attacker that resolves to this machine. */
async function start(path: string): Promise<Running> {
  const ports = {
    listener: await freePort(),
    admin: await freePort(),
    stats: await freePort(),
    readiness: await freePort(),
  }
  const text = `gateways: { default: { port: ${ports.listener}, address: 127.0.0.1 } }
routes: [{ name: planted, matches: [{ path: { exact: / } }], policies: { directResponse: { status: 200, body: hello } } }]
ui: {}
`
  const program = new Program('gateway', ['-c', text], {
    ADMIN_ADDR: `127.0.0.1:${ports.admin}`,
    STATS_ADDR: `127.0.0.1:${ports.stats}`,
    READINESS_ADDR: `127.0.0.1:${ports.readiness}`,
  })
  await program.prints(/started bind/)
  const chromium = await Chromium.start(path, [
    '--host-resolver-rules=MAP evil.test 127.0.0.1',
    // A process per site is expensive, and only protects against bugs of the browser.
    '--disable-site-isolation-trials',
  ])
  return { ports, program, chromium }
}

async function responseOf(port: number, path: string): Promise<string> {
  const answer = await fetch(`http://127.0.0.1:${port}${path}`, {
    signal: AbortSignal.timeout(WAIT_MS),
  })
  return `${answer.status} ${await deadline(answer.text(), WAIT_MS, path)}`
}

/** The gateway runs, answers requests, and has the same log level. */
async function assertUnharmed({ ports, program }: Running): Promise<void> {
  assert.is(await responseOf(ports.readiness, '/healthz/ready'), '200 ready\n')
  assert.is(await responseOf(ports.admin, '/logging'), '200 current log level is info\n')
  assert.is(await responseOf(ports.listener, '/'), '200 hello')
  assert.match(await responseOf(ports.admin, '/memory'), '"trace_watchers": 0')
  assert.not.match(program.stdout, /shutting down/)
}

async function open({ chromium }: Running, url: string): Promise<Page> {
  const page = await chromium.page()
  stage.add({ close: () => page.context().close() })
  await page.goto(url)
  return page
}

function site(): Promise<RebindingServer> {
  return RebindingServer.start(hostile).then((server) => stage.add(server))
}

/** The refusal as plain text, or as JSON of the web UI. */
const REFUSED = /^(?:{"error":")?forbidden: /

/** By the name of the method of attack: the text it read, or null. */
type Results = Record<string, string | null>

/** `wire` forwards to the port: every request must arrive there, and all must be refused. */
async function attack(page: Page, paths: Targets[Place], wire: RebindingServer, name: string) {
  const url = `http://${name}:${wire.port}`
  // The browser allows the page to read responses of its own origin.
  const isOwn = page.url().startsWith(`${url}/`)
  for (const ways of ['reads', 'writes'] as const)
    for (const path of paths?.[ways] ?? []) {
      const tried = page.evaluate<Results>(`attack(${ways}, '${url}${path}')`)
      const results = await deadline(tried, WAIT_MS, `${ways} of ${path}`)
      for (const [way, text] of Object.entries(results)) {
        const isRefusal = isOwn && REFUSED.test(text ?? '')
        assert.ok(text === null || isRefusal, `${way} of ${path}: ${String(text)}`)
      }
      await waitForAll(wire, new URL(path, url).pathname, Object.keys(results))
    }
  assert.equal([...new Set(wire.statuses)], [403])
}

/** The query of each request names its method of attack. The browser sends some of them late. */
async function waitForAll(
  wire: RebindingServer,
  path: string,
  ways: readonly string[],
): Promise<void> {
  const missing = async (): Promise<string[]> => {
    const urls = wire.requestLines.map((line) => new URL(line.split(' ')[1] ?? '', 'http://any'))
    const arrived = urls.filter(({ pathname }) => pathname === path)
    const names = new Set(arrived.map(({ searchParams }) => searchParams.get('way')))
    return ways.filter((way) => !names.has(way))
  }
  const isAnswered = (): boolean => wire.statuses.length === wire.requestLines.length
  await until(missing, ({ length }) => length === 0 && isAnswered(), WAIT_MS)
}

interface Attack {
  /** The host of the page. */
  readonly host: string
  readonly path?: string
  /** The host name in the requests of the page. */
  readonly name: string
  readonly targets?: Targets
}

const ATTACKS: Readonly<Record<string, Attack>> = {
  'another site': { host: 'evil.test', name: '127.0.0.1', targets: ALL },
  'another port of this machine': { host: '127.0.0.1', name: '127.0.0.1' },
  'another site that requests localhost': { host: 'evil.test', name: 'localhost' },
  'a site with the same name as the port': { host: 'evil.test', name: 'evil.test' },
  'a page without an origin': { host: 'evil.test', path: '/sandboxed', name: '127.0.0.1' },
}

function addAttacks(running: () => Promise<Running>): void {
  for (const [attacker, { host, path = '/', name, targets = SOME }] of Object.entries(ATTACKS))
    judge(`${attacker} reads nothing, changes nothing and stops nothing`, async () => {
      const all = await running()
      const page = await open(all, `http://${host}:${(await site()).port}${path}`)
      for (const place of Object.keys(targets) as Place[]) {
        const wire = await site()
        wire.forwardTo(all.ports[place])
        await attack(page, targets[place], wire, name)
      }
      await assertUnharmed(all)
    })

  judge('a page with DNS rebinding after it is loaded reads and changes nothing', async () => {
    const all = await running()
    for (const place of Object.keys(ALL) as Place[]) {
      const wire = await site()
      const page = await open(all, `http://evil.test:${wire.port}/`)
      wire.forwardTo(all.ports[place])
      await attack(page, ALL[place], wire, 'evil.test')
    }
    await assertUnharmed(all)
  })
}

/** The title of the pages of the gateway. */
const OURS = /gateway$/

interface Shown {
  readonly status: number
  readonly title: string
  readonly text: string
}

/** Navigates by a script of the page; returns the new page and its status. */
async function follow(page: Page, script: string): Promise<Shown> {
  const before = page.url()
  const [response] = await Promise.all([
    page.waitForEvent('response', (answer) => answer.status() !== 302),
    page.waitForURL(({ href }) => href !== before),
    page.evaluate(script),
  ])
  const [title, text] = [await page.title(), await page.innerText('body')]
  return { status: response.status(), title, text }
}

function addUserVisits(running: () => Promise<Running>): void {
  judge('a user that types the address sees the page, and can follow its links', async () => {
    const all = await running()
    for (const name of ['127.0.0.1', 'localhost']) {
      const page = await open(all, `http://${name}:${all.ports.admin}/`)
      assert.is(await page.title(), 'gateway')
      await page.click('a[href="/config_dump"]')
      await page.waitForURL('**/config_dump')
      assert.match(await page.innerText('body'), 'planted')
    }
  })

  judge('a page that opens the web UI in another tab cannot read it', async () => {
    const all = await running()
    const page = await open(all, `http://evil.test:${(await site()).port}/`)
    const url = `http://127.0.0.1:${all.ports.admin}/ui`
    const [tab] = await Promise.all([
      page.waitForEvent('popup'),
      page.evaluate(`void (globalThis.tab = open('${url}'))`),
    ])
    await tab.waitForURL(url)
    await tab.waitForLoadState()
    assert.match(await tab.title(), OURS)
    assert.is(await page.evaluate('insideOf(() => tab.document.body.textContent)'), null)
    assert.is(await page.evaluate('insideOf(() => tab.location.href)'), null)
  })
}

function addLinks(running: () => Promise<Running>): void {
  judge('links and redirects after a login lead to pages, and not to data', async () => {
    const all = await running()
    const admin = `http://127.0.0.1:${all.ports.admin}`
    const there = await site()
    for (const host of ['evil.test', '127.0.0.1']) {
      const start = `http://${host}:${there.port}/`
      for (const path of ['/', '/ui', '/ui/?code=a&state=b'])
        for (const url of [admin + path, `${start}to?${admin}${path}`]) {
          const shown = await follow(await open(all, start), `location = '${url}'`)
          assert.is(shown.status, 200, url)
          assert.match(shown.title, OURS, url)
        }
      for (const path of ['/config_dump', '/memory', '/debug/tasks', '/ui/../logging']) {
        const shown = await follow(await open(all, start), `location = '${admin}${path}'`)
        assert.equal([shown.status, shown.text.slice(0, 10)], [403, 'forbidden:'], path)
      }
    }
  })

  judge('a link leads to the page on a listener, and not to its data', async () => {
    const all = await running()
    const listener = `http://127.0.0.1:${all.ports.listener}`
    const there = await site()
    for (const host of ['evil.test', '127.0.0.1']) {
      const start = `http://${host}:${there.port}/`
      for (const url of [`${listener}/ui`, `${start}to?${listener}/ui`]) {
        const shown = await follow(await open(all, start), `location = '${url}'`)
        assert.is(shown.status, 200, url)
        assert.match(shown.title, OURS, url)
      }
      for (const path of ['/api/config', '/api/trace', '/ui/../api/config']) {
        const shown = await follow(await open(all, start), `location = '${listener}${path}'`)
        assert.is(shown.status, 403, path)
        assert.match(shown.text, REFUSED, path)
      }
    }
  })
}

const found = findChromium()
if (found.kind === 'found') {
  let starting: Promise<Running> | undefined
  // Awaited in each test, so that each fails with the reason if the start fails.
  const running = (): Promise<Running> => (starting ??= start(found.path))
  judge.after(async () => {
    const all = await starting?.catch(() => null)
    await all?.chromium.close()
    await all?.program.kill()
  })
  addAttacks(running)
  addUserVisits(running)
  addLinks(running)
} else reportSkip('a hostile page', found.why)

judge.run()
