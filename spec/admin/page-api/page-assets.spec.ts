// The files of the page: everything that it loads, and nothing else.

import { createHash } from 'node:crypto'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { Assets } from '../../../lib/admin/page-api/page-assets.ts'
import { mainScript, pageFiles } from '../../support/ui/page-files.ts'

const assets = suite('ui/assets')

/** More than this would be slow again over a long distance. */
const MAX_FILES = 6

/** Paths of modules that a script imports, as a browser resolves them. */
function importsOf(path: string, text: string): string[] {
  return [...text.matchAll(/(?:\bfrom|\bimport)\s*\(?["'](\.[^"'\s<>]+)["']/g)].map(
    ([, name = '']) => new URL(name, `http://x${path}`).pathname,
  )
}

assets('has every module that the page loads, and every file its head names', () => {
  const served = new Assets()
  const wanted = new Set(pageFiles())
  assert.is(wanted.size, 4)
  for (const path of wanted) {
    const asset = served.find(path)
    assert.ok(asset, path)
    if (!path.endsWith('.js')) continue
    for (const next of importsOf(path, asset!.content.toString())) wanted.add(next)
  }
  assert.ok(wanted.size <= MAX_FILES, [...wanted].join(' '))
})

assets(
  'the page has no inline script or style, and names no address outside of the process',
  () => {
    const html = new Assets().page.content.toString()
    assert.not.match(html, /<script(?![^>]*\ssrc=)/)
    assert.not.match(html, /<style|\sstyle=|\son[a-z]+=/)
    assert.not.match(html, /(?:https?:)?\/\/[a-z]/i)
    assert.not.match(html, '{{')
  },
)

assets('serves scripts, styles and the icon with their types, each with a hash in its name', () => {
  const served = new Assets()
  const types = pageFiles().map((path) => served.find(path)!.type)
  assert.equal(types.sort(), [
    'image/svg+xml',
    'text/css; charset=utf-8',
    'text/javascript; charset=utf-8',
    'text/javascript; charset=utf-8',
  ])
  for (const path of pageFiles()) assert.match(path, /^\/ui\/\w+-[A-Z0-9]{8}\.(?:js|css|svg)$/)
  assert.is(served.page.type, 'text/html; charset=utf-8')
  assert.is(served.find('/favicon.ico')?.type, 'image/x-icon')
})

assets('serves no maps, no compressed files by name, and no path that leads elsewhere', () => {
  const served = new Assets()
  const main = mainScript()
  assert.not.match(served.find(main)!.content.toString(), 'sourceMappingURL')
  for (const path of [
    `${main}.map`,
    `${main}.br`,
    `${main}.gz`,
    `${main}\0`,
    main.toUpperCase(),
    main.replace('/ui/', '/ui//'),
    main.replace('/ui/', '/ui/../ui/'),
    '/ui/index.html',
    '/ui/manifest.json',
    '/ui/LICENSES.txt',
    '/ui/favicon.ico',
    '/ui/',
    '/ui/../package.json',
    '/ui/..%2fservice.js',
    '/ui/%2e%2e/service.js',
    '/ui/..\\service.js',
    '/ui/lib/gateway.js',
    '/etc/passwd',
    '/ui//etc/passwd',
    '__proto__',
    'constructor',
    '',
  ])
    assert.is(served.find(path), undefined, JSON.stringify(path))
})

assets('reads a file once, and its tag is made from its content', () => {
  const served = new Assets()
  const first = served.find(mainScript())!
  assert.is(served.find(mainScript()), first)
  assert.is(served.page, served.page)
  const hash = createHash('sha256').update(first.content).digest('base64url')
  assert.is(first.etag, `"${hash}"`)
})

assets.run()
