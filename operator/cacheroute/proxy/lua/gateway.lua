-- Chooses the virtual host of a request: first by its model, then by its key (see names.py for the spelling).

-- The route's metadata are read afresh each time; handle:virtualHost() would keep the first one.
local function enter(handle, domain)
  handle:headers():replace(KEY_HEADER, domain)
  handle:clearRouteCache()
  return handle:metadata()
end

local function percent(odd)
  return string.format('%%%02x', string.byte(odd))
end

local function model_domain(model)
  if not model or model == '' then
    return NO_MODEL
  elseif #model > MAX_MODEL_BYTES then
    return MODEL_PREFIX .. COLD
  end
  return MODEL_PREFIX .. string.gsub(string.lower(model), ODD, percent)
end

-- The value of a cookie (RFC 6265, section 5.4), the first of several; nil where there is none.
local function cookie(headers, wanted)
  for index = 0, headers:getNumValues('cookie') - 1 do
    for name, value in string.gmatch(headers:getAtIndex('cookie', index), '([^=;%s]+)=([^;]*)') do
      if name == wanted then
        return (string.gsub(value, '^"(.*)"$', '%1'))
      end
    end
  end
  return nil
end

local function read(headers, members, source)
  if source.header then
    return headers:get(source.header)
  elseif source.cookie then
    return cookie(headers, source.cookie)
  end
  return members[source.field]
end

-- The first source that has a value; an empty one counts as absent.
local function find_key(headers, members, sources)
  for _, source in ipairs(sources) do
    local value = read(headers, members, source)
    if value and value ~= '' then
      return value
    end
  end
  return nil
end

local function canonical(raw, max_length)
  if #raw > max_length then
    return nil
  end
  local key = string.lower(raw)
  if string.find(key, ODD) then
    return nil
  end
  return key
end

-- Every request starts in the virtual host that answers "no such model", which also knows the body fields that
-- any plan of this gateway looks at. A body that is no JSON object names no model.
function envoy_on_request(handle)
  local fields = handle:virtualHost():metadata():get('fields') or {}
  local body = handle:body()
  local members = body and json_members(body:getBytes(0, body:length()), fields, MAX_STEPS) or {}
  local plan = enter(handle, model_domain(members.model))
  local prefix = plan:get('prefix')
  if not prefix then
    return
  end
  local raw = body and find_key(handle:headers(), members, plan:get('sources'))
  local key = raw and canonical(raw, plan:get('max_length'))
  local request = handle:streamInfo():dynamicMetadata()
  request:set(NAMESPACE, 'plan', plan:get('plan'))
  request:set(NAMESPACE, 'key', key or raw and REJECTED or '')
  enter(handle, prefix .. (key or COLD))
end
