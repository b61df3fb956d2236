// The files of the page: all that it asks for, and nothing else.

import { createHash } from 'node:crypto'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { Assets } from '../../../lib/admin/page-api/page-assets.ts'

const assets = suite('ui/assets')

const MAIN = '/ui/lib/ui/page/main.js'

/** Addresses of modules that a script imports, as a browser makes them. */
function importsOf(path: string, text: string, names: Record<string, string>): string[] {
  return [...text.matchAll(/(?:\bfrom|\bimport)\s*\(?["']([^"'\s<>]+)["']/g)].map(
    ([, name = '']) =>
      name.startsWith('.') ? new URL(name, `http://x${path}`).pathname : (names[name] ?? name),
  )
}

function importMap(html: string): { text: string; names: Record<string, string> } {
  const [, text = ''] = /<script type="importmap">([^]*?)<\/script>/.exec(html) ?? []
  return { text, names: (JSON.parse(text) as { imports: Record<string, string> }).imports }
}

assets('has every module that the page loads, and every file its head names', () => {
  const served = new Assets()
  const html = served.page.content.toString()
  const { names } = importMap(html)
  const named = [...html.matchAll(/(?:src|href)="(\/ui\/[^"]+)"/g)].map(([, path]) => path!)
  assert.ok(named.includes(MAIN))
  const wanted = new Set([...named, ...Object.values(names)])
  for (const path of wanted) {
    const asset = served.find(path)
    assert.ok(asset, path)
    if (!path.endsWith('.js')) continue
    for (const next of importsOf(path, asset!.content.toString(), names)) wanted.add(next)
  }
  assert.ok(wanted.size > 15)
})

assets('the one inline script is named by its hash', () => {
  const { page } = new Assets()
  const html = page.content.toString()
  const hash = createHash('sha256').update(importMap(html).text).digest('base64')
  assert.is(page.inlineHash, `'sha256-${hash}'`)
  const inline = [...html.matchAll(/<script(?![^>]*\ssrc=)[^>]*>/g)]
  assert.is(inline.length, 1)
  assert.not.match(html, /<style|\sstyle=|\son[a-z]+=/)
})

assets('names no address outside of the process', () => {
  const { page } = new Assets()
  assert.not.match(page.content.toString(), /(?:https?:)?\/\/[a-z]/i)
})

assets('serves scripts and styles with their types, and no maps, pages or types', () => {
  const served = new Assets()
  assert.is(served.find(MAIN)?.type, 'text/javascript; charset=utf-8')
  assert.is(served.find('/ui/lib/ui/page/style/frame.css')?.type, 'text/css; charset=utf-8')
  assert.is(served.page.type, 'text/html; charset=utf-8')
  assert.not.match(served.find(MAIN)!.content.toString(), 'sourceMappingURL')
  for (const path of [
    `${MAIN}.map`,
    '/ui/lib/ui/page/index.html',
    '/ui/lib/ui/page/',
    '/ui/lib/ui/page/main.ts',
    '/ui/lib/ui/page/pages',
  ])
    assert.is(served.find(path), undefined, path)
})

assets('no path leads out of the folders that are served', () => {
  const served = new Assets()
  for (const path of [
    '/ui/lib/ui/service.js',
    '/ui/lib/ui/page/../service.js',
    '/ui/lib/ui/page/..%2fservice.js',
    '/ui/lib/ui/page/%2e%2e/service.js',
    '/ui/lib/ui/page/..\\service.js',
    '/ui/lib/trace-view/../log.js',
    '/ui/lib/gateway.js',
    '/ui/vendor/../package.json',
    '/ui/vendor/jose.js',
    '/ui/lib/ui/page//main.js',
    '/ui/lib/ui/page/main.js\0',
    '/ui/lib/ui/page/MAIN.js',
    '/etc/passwd',
    '/ui//etc/passwd',
    '__proto__',
    'constructor',
    '',
  ])
    assert.is(served.find(path), undefined, JSON.stringify(path))
})

assets('reads a file once, and its tag tells its content', () => {
  const served = new Assets()
  const first = served.find(MAIN)!
  assert.is(served.find(MAIN), first)
  assert.is(served.page, served.page)
  const hash = createHash('sha256').update(first.content).digest('base64url')
  assert.is(first.tag, `"${hash}"`)
  assert.is.not(served.find('/ui/lib/ui/page/app.js')!.tag, first.tag)
})

assets.run()
