// The documentation points to what exists: paths of files, links between pages, and their headings.

import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { ROOT } from './support/root.ts'

const PAGES = [
  'README.md',
  'CHANGELOG.md',
  'CONTRIBUTING.md',
  'lib/README.md',
  'perf/README.md',
  'perf/NOTES.md',
  'conformance/README.md',
  ...readdirSync(join(ROOT, 'docs'))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
]

const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8')

/** Text without fenced blocks, which show commands and output of other places. */
function proseOf(text: string): string {
  return text.replace(/^```[^]*?^```$/gm, '')
}

/** Paths in backticks that name a folder or a source file: `core/errors.ts`, `lib/relay/`. */
function pathsOf(text: string): string[] {
  const found = proseOf(text).matchAll(/`([\w.-]+(?:\/[\w.-]+)*(?:\.(?:ts|mjs)|\/))`/g)
  return [...new Set([...found].map(([, path = '']) => path))]
}

/** A path is written from the root or from lib/; below a folder that the same page names, its name is enough. */
function isFound(path: string, page: string): boolean {
  const folders = pathsOf(read(page)).filter((other) => other.includes('/'))
  const starts = ['', 'lib/', ...folders.map((other) => `lib/${dirname(`${other}x`)}/`)]
  return starts.some((start) => existsSync(join(ROOT, start, path)))
}

interface Link {
  readonly page: string
  readonly anchor: string
}

function linksOf(from: string): Link[] {
  return [...proseOf(read(from)).matchAll(/\]\((?!\w+:)([^)#\s]*)(?:#([^)\s]+))?\)/g)].map(
    ([, path = '', anchor = '']) => ({
      page: path === '' ? from : join(dirname(from), path),
      anchor,
    }),
  )
}

/** Headings as GitHub links them. */
function anchorsOf(page: string): string[] {
  return [...proseOf(read(page)).matchAll(/^#+ (.+)$/gm)].map(([, title = '']) =>
    title
      .toLowerCase()
      .replace(/[^\w\- ]/g, '')
      .replaceAll(' ', '-'),
  )
}

const docs = suite('documentation')

docs('names files and folders that exist', () => {
  const missing = ['lib/README.md', 'CONTRIBUTING.md'].flatMap((page) =>
    pathsOf(read(page))
      .filter((path) => !isFound(path, page))
      .map((path) => `${page}: ${path}`),
  )
  assert.equal(missing, [])
})

docs('links to pages and headings that exist', () => {
  const broken = PAGES.flatMap((from) =>
    linksOf(from)
      .filter(({ page, anchor }) => {
        if (!existsSync(join(ROOT, page))) return true
        return anchor !== '' && page.endsWith('.md') && !anchorsOf(page).includes(anchor)
      })
      .map(({ page, anchor }) => `${from}: ${page}#${anchor}`),
  )
  assert.equal(broken, [])
})

docs('prints commands that work from a checkout', () => {
  const bare = PAGES.flatMap((page) =>
    read(page)
      .split('\n')
      .filter((line) =>
        /^(?:\$ | {4}|.*`)(?:[A-Z]+=\S+ )*(?:gateway -|gwctl (?:proxy|completion))/.test(line),
      )
      .map((line) => `${page}: ${line}`),
  )
  assert.equal(bare, [], 'write npx gateway, npx gwctl')
})

docs.run()
