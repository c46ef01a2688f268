-- String members of a JSON object, found by their path (`user`, `metadata.user_id`) without building the document.
-- Every step moves forward through the text, so the time is linear in its length whatever a client sends.

local byte, find, gsub, sub = string.byte, string.find, string.gsub, string.sub

local QUOTE, BACKSLASH, COLON, ZERO, NINE = 34, 92, 58, 48, 57
local OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT, SPACE = 91, 93, 123, 125, 32

local STRUCTURAL = { [QUOTE] = true, [OPEN_LIST] = true, [CLOSE_LIST] = true, [OPEN_OBJECT] = true, [CLOSE_OBJECT] = true }

local PLAIN_ESCAPES = { b = '\b', f = '\f', n = '\n', r = '\r', t = '\t' }

-- UTF-8 of a code point of the basic plane. Halves of surrogate pairs stay apart: no name we look for has them.
local function utf8(code)
  if code < 0x80 then
    return string.char(code)
  elseif code < 0x800 then
    return string.char(0xC0 + math.floor(code / 0x40), 0x80 + code % 0x40)
  end
  return string.char(0xE0 + math.floor(code / 0x1000), 0x80 + math.floor(code / 0x40) % 0x40, 0x80 + code % 0x40)
end

local function unescape_one(letter, hex)
  if letter == 'u' and #hex == 4 then
    return utf8(tonumber(hex, 16))
  end
  return (PLAIN_ESCAPES[letter] or letter) .. hex
end

local function unescape(raw)
  if not find(raw, '\\', 1, true) then
    return raw
  end
  return (gsub(raw, '\\(.)(%x?%x?%x?%x?)', unescape_one))
end

-- The first place from `at` on that is no white space. LuaJIT compiles `byte`, but no pattern: one is for odd texts.
local function solid(text, at)
  local character = byte(text, at)
  if character and character > SPACE then
    return at
  end
  return find(text, '%S', at)
end

-- The first place from `at` on with a quote, a bracket or a brace; mostly it is near.
local function structural(text, at)
  for place = at, at + 3 do
    if STRUCTURAL[byte(text, place)] then
      return place
    end
  end
  return find(text, '["{}%[%]]', at + 4)
end

-- The place of the quote that ends the string whose first character is at `from`, or nil.
local function string_end(text, from)
  local quote = find(text, '"', from, true)
  while quote do
    local before = quote - 1
    while before >= from and byte(text, before) == BACKSLASH do
      before = before - 1
    end
    if (quote - before) % 2 == 1 then
      return quote
    end
    quote = find(text, '"', quote + 1, true)
  end
  return nil
end

-- Remembers where `character` comes next, so that asking again and again still reads the text once.
local function seeker(text, character)
  local place = 0
  return function(from)
    if place and place < from then
      place = find(text, character, from, true)
    end
    return place or math.huge
  end
end

-- Where a list of numbers (token ids) that starts at `from` ends; nil where it is not one.
local function number_list_jumper(text)
  local close, list = seeker(text, ']'), seeker(text, '[')
  local object, quote = seeker(text, '{'), seeker(text, '"')
  return function(from)
    local first = byte(text, from)
    if not first or first < ZERO or first > NINE then
      return nil
    end
    local stop = close(from)
    if list(from) < stop or object(from) < stop or quote(from) < stop or stop == math.huge then
      return nil
    end
    return stop
  end
end

-- The objects that wanted members are in: `metadata` of `metadata.user_id`, with the members that each holds.
local known_containers = setmetatable({}, { __mode = 'k' })

local function containers(wanted)
  if known_containers[wanted] then
    return known_containers[wanted]
  end
  local parents = {}
  for path in pairs(wanted) do
    local dot = find(path, '.', 1, true)
    while dot do
      local parent = sub(path, 1, dot - 1)
      parents[parent] = parents[parent] or {}
      parents[parent][#parents[parent] + 1] = path
      dot = find(path, '.', dot + 1, true)
    end
  end
  known_containers[wanted] = parents
  return parents
end

-- Reads what follows a string that ended at `stop`, in an object whose members are called `prefix` and their name.
-- Where the string is a member's name and wanted, its value goes into `found` (the last of several wins, as in JSON
-- parsers). Returns where to go on, and the prefix of the members of an object that is looked into next.
local function read_member(text, from, stop, prefix, wanted, parents, found)
  local colon = solid(text, stop + 1)
  if not colon or byte(text, colon) ~= COLON then
    return stop + 1
  end
  local value = solid(text, colon + 1)
  local name = unescape(sub(text, from, stop - 1))
  local path = prefix .. name
  if not value or find(name, '.', 1, true) or not (wanted[path] or parents[path]) then
    return value
  end
  found[path] = nil
  for _, member in ipairs(parents[path] or {}) do
    found[member] = nil
  end
  local character = byte(text, value)
  if character == OPEN_OBJECT and parents[path] then
    return value, path .. '.'
  elseif character ~= QUOTE or not wanted[path] then
    return value
  end
  local value_stop = string_end(text, value + 1)
  if value_stop then
    found[path] = unescape(sub(text, value + 1, value_stop - 1))
    return value_stop + 1
  end
  return nil
end

-- wanted: set of paths. Returns path → decoded string, or nil where the text is no complete object or has more
-- than `max_steps` strings and brackets.
local function json_members(text, wanted, max_steps)
  local found, parents = {}, containers(wanted)
  local depth, prefixes, entered = 0, {}, ''
  local at = find(text, '%S')
  if not at or byte(text, at) ~= OPEN_OBJECT then
    return nil
  end
  local number_list_end = number_list_jumper(text)
  for _ = 1, max_steps do
    at = at and structural(text, at)
    if not at then
      return nil
    end
    local character = byte(text, at)
    if character == QUOTE then
      local stop = string_end(text, at + 1)
      if stop and prefixes[depth] then
        at, entered = read_member(text, at + 1, stop, prefixes[depth], wanted, parents, found)
      else
        at = stop and stop + 1
      end
    elseif character == OPEN_LIST then
      local stop = number_list_end(at + 1)
      if stop then
        at = stop + 1
      else
        depth, at = depth + 1, at + 1
        prefixes[depth] = false
      end
    elseif character == OPEN_OBJECT then
      depth, at = depth + 1, at + 1
      prefixes[depth], entered = entered or false, nil
    else
      depth, at = depth - 1, at + 1
      if depth == 0 then
        return found
      end
    end
  end
  return nil
end
