# SONiC (any ASIC that has sFlow there). 10.0.0.5 is the collector, Loopback0 names the switch.
# Two collectors at most. The rate is set port by port.
sudo config feature state sflow enabled
sudo config sflow agent-id add Loopback0
sudo config sflow collector add flowprism 10.0.0.5 --port 6343
sudo config sflow polling-interval 10
sudo config sflow interface enable all
for port in $(show interfaces status | awk '$1 ~ /^Ethernet/ { print $1 }'); do
    sudo config sflow interface sample-rate "$port" 16384
done
sudo config sflow enable
sudo config save -y
